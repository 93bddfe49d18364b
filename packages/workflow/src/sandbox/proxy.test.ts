import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { once } from "node:events";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer as createHttp, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { messageOf, until, withMoreTime } from "../../test/fixtures/until.ts";
import { openEgressProxy } from "./proxy.ts";

const folder = mkdtempSync(join(tmpdir(), "egress-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

type Parts = NonNullable<Parameters<typeof openEgressProxy>[3]>;

let count = 0;
const newPath = () => join(folder, `s${count++}`);

/** A proxy with an allow list, and the targets that it refused. */
async function opened(allow: string[] = [], parts: Partial<Parts> = {}) {
  const path = newPath();
  const refused: string[] = [];
  const proxy = await openEgressProxy(
    path,
    { allow },
    (target, reason) => refused.push(`${target} ${reason}`),
    parts,
  );
  ends.push(proxy.close);
  return { path, refused, close: proxy.close };
}

async function listening(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  ends.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** A TCP server on loopback; `seen` is all that it has read. */
async function tcp(serve: (socket: Socket) => void = () => {}) {
  const target = { port: 0, seen: "", sockets: [] as Socket[] };
  target.port = await listening(
    createServer({ allowHalfOpen: true }, (socket) => {
      target.sockets.push(socket);
      socket.on("data", (bytes) => {
        target.seen += bytes.toString("latin1");
      });
      serve(socket);
    }),
  );
  return target;
}

/** An HTTP server on loopback. */
async function http(serve: (request: IncomingMessage, response: ServerResponse) => void) {
  return listening(createHttp(serve));
}

/** A client connection; `got` is all that it has read. */
async function client(path: string, text = "") {
  const socket = connect({ path, allowHalfOpen: true });
  const one = { socket, got: "", ended: false, closed: false };
  socket.on("data", (bytes) => {
    one.got += bytes.toString("latin1");
  });
  socket.on("end", () => {
    one.ended = true;
    socket.end();
  });
  socket.on("error", () => {});
  socket.on("close", () => {
    one.closed = true;
  });
  ends.push(() => socket.destroy());
  await once(socket, "connect");
  if (text) socket.write(text);
  return one;
}

/** All that comes back for a text, until the proxy ends the connection. */
async function exchange(path: string, text: string): Promise<string> {
  const one = await client(path, text);
  await until(
    () => one.closed || one.ended,
    () => `still open after ${one.got}`,
  );
  return one.got;
}

const connectTo = (target: string) => `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`;
const getOf = (url: string, headers = "") => `GET ${url} HTTP/1.1\r\nHost: other\r\n${headers}\r\n`;

const statusOf = (answer: string): number => Number(answer.split(" ")[1]);
const bodyOf = (answer: string): string => answer.slice(answer.indexOf("\r\n\r\n") + 4);

describe("a target is refused", () => {
  test.each([
    ["127.0.0.1", "loopback address"],
    ["127.1", "loopback address"],
    ["2130706433", "loopback address"],
    ["0x7f.1", "loopback address"],
    ["0177.0.0.1", "loopback address"],
    ["127.0.0.1.", "loopback address"],
    ["127%2e0.0.1", "loopback address"],
    ["localhost", "loopback address"],
    ["LOCALHOST", "loopback address"],
    ["localhost.", "loopback address"],
    ["[::1]", "loopback address"],
    ["[::ffff:127.0.0.1]", "loopback address"],
    ["[64:ff9b::7f00:1]", "loopback address"],
    ["0", "reserved address"],
    ["0.0.0.0", "reserved address"],
    ["[::]", "reserved address"],
    ["10.0.0.1", "private address"],
    ["169.254.169.254", "link-local address"],
    ["[fd00:ec2::254]", "private address"],
    ["100.100.100.200", "private address"],
    ["168.63.129.16", "cloud metadata address"],
    ["255.255.255.255", "broadcast address"],
  ])("%s", async (host, reason) => {
    const target = await tcp();
    const { path, refused } = await opened();
    const tunnel = await exchange(path, connectTo(`${host}:${target.port}`));
    const plain = await exchange(path, getOf(`http://user:secret@${host}:${target.port}/x?secret`));
    expect([statusOf(tunnel), statusOf(plain)]).toEqual([403, 403]);
    expect(bodyOf(tunnel)).toEndWith(
      `:${target.port}: refused: ${reason}; allow it with sandbox.network.allow in your settings\n`,
    );
    expect(plain).toContain(bodyOf(tunnel).trim());
    expect(refused).toHaveLength(2);
    expect(refused.join()).not.toContain("secret");
    expect(target.sockets).toHaveLength(0);
  });

  test("whose name has only such addresses", async () => {
    const target = await tcp();
    const resolve = async () => ["192.168.1.1", "127.0.0.1"];
    const { path, refused } = await opened([], { resolve });
    const answer = await exchange(path, connectTo(`metadata.google.internal:${target.port}`));
    expect(bodyOf(answer)).toStartWith(
      `metadata.google.internal:${target.port}: refused: private address`,
    );
    expect(refused).toEqual([`metadata.google.internal:${target.port} private address`]);
  });

  test("that is an address of this machine, also a public one", async () => {
    const { path, refused } = await opened([], { own: () => ["8.8.8.8", "2606:4700::1"] });
    for (const host of ["8.8.8.8", "[2606:4700::1]", "[::ffff:8.8.8.8]"]) {
      expect(statusOf(await exchange(path, connectTo(`${host}:80`)))).toBe(403);
    }
    expect(refused[0]).toBe("8.8.8.8:80 address of this machine");
  });
});

/** Public by its range, and nobody's yet: a connection to it fails or stays silent. */
const unassigned = "3000::1";

describe("a name", () => {
  test("is resolved once, whatever it resolves to later", async () => {
    const target = await tcp();
    let asked = 0;
    const resolve = async () => (asked++ === 0 ? [unassigned] : ["127.0.0.1"]);
    const { path } = await opened([], { resolve, connectMs: 200 });
    const answer = await exchange(path, connectTo(`rebind.example:${target.port}`));
    expect([502, 504]).toContain(statusOf(answer));
    expect(asked).toBe(1);
    expect(target.sockets).toHaveLength(0);
  });

  test("with public and private addresses is never reached at a private one", async () => {
    const target = await tcp();
    const resolve = async () => ["127.0.0.1", unassigned, "::1"];
    const { path, refused } = await opened([], { resolve, connectMs: 200 });
    const answer = await exchange(path, getOf(`http://mixed.example:${target.port}/`));
    expect([502, 504]).toContain(statusOf(answer));
    expect(refused).toEqual([]);
    expect(target.sockets).toHaveLength(0);
  });

  test("that an entry allows is reached at the address of its one resolution", async () => {
    const port = await http((_, response) => response.end("reached"));
    let asked = 0;
    const resolve = async () => (asked++ === 0 ? ["127.0.0.1"] : ["192.0.2.1"]);
    const { path } = await opened([`db.example:${port}`], { resolve });
    expect(await exchange(path, getOf(`http://DB.example.:${port}/`))).toContain("reached");
    expect(asked).toBe(1);
  });

  test("is tried at its next address when one can't be reached", async () => {
    const port = await http((_, response) => response.end("reached"));
    const resolve = async () => ["::1", "127.0.0.1"];
    const { path } = await opened([`db.example:${port}`], { resolve });
    expect(await exchange(path, getOf(`http://db.example:${port}/`))).toContain("reached");
  });

  test.each([
    ["is unknown", async () => Promise.reject(new Error("ENOTFOUND"))],
    ["has no address", async () => []],
  ])("that %s is answered with 502", async (_, resolve: () => Promise<string[]>) => {
    const { path, refused } = await opened([], { resolve });
    const answer = await exchange(path, connectTo("none.example:443"));
    expect([statusOf(answer), bodyOf(answer)]).toEqual([502, "none.example:443: unknown host\n"]);
    expect(refused).toEqual([]);
  });

  test("that no server answers for is answered with 504", async () => {
    const { path } = await opened([], { resolve: () => new Promise(() => {}), connectMs: 20 });
    expect(statusOf(await exchange(path, connectTo("slow.example:443")))).toBe(504);
  });
});

describe("an entry of the allow list", () => {
  test.each([
    ["localhost", ["localhost", "LOCALHOST.", "127.0.0.1", "127.1"]],
    ["127.0.0.1", ["localhost", "127.0.0.1"]],
    ["[::1]", ["localhost", "127.0.0.1"]],
  ])("for %s opens its synonyms at that port", async (host, asked) => {
    const port = await http((_, response) => response.end("reached"));
    const { path, refused } = await opened([`${host}:${port}`]);
    for (const one of asked) {
      expect(await exchange(path, getOf(`http://${one}:${port}/`))).toContain("reached");
    }
    expect(refused).toEqual([]);
  });

  test("opens no other port and no other host", async () => {
    const [allowed, other] = [await tcp(), await tcp()];
    const { path } = await opened([`localhost:${allowed.port}`]);
    for (const target of [
      `localhost:${other.port}`,
      `127.0.0.1:${other.port}`,
      `127.0.0.2:${allowed.port}`,
      `0.0.0.0:${allowed.port}`,
      `[::ffff:127.0.0.1]:${allowed.port}`,
    ]) {
      expect(statusOf(await exchange(path, connectTo(target)))).toBe(403);
    }
  });

  test.each(["localhost", "localhost:0", "*:443", "http://localhost:1"])(
    "that is %j is an error when the proxy starts",
    async (entry) => {
      const opening = openEgressProxy(newPath(), { allow: [entry] });
      expect(await messageOf(opening)).toBe(
        `sandbox.network.allow: ${JSON.stringify(entry)} is not host:port`,
      );
    },
  );
});

describe("a tunnel", () => {
  test("carries bytes both ways, also those that came with the request", async () => {
    const target = await tcp((socket) => socket.write("banner "));
    const { path } = await opened([`localhost:${target.port}`]);
    const one = await client(path, `${connectTo(`localhost:${target.port}`)}GET /1`);
    await until(() => target.seen === "GET /1" && one.got.endsWith("\r\n\r\nbanner "));
    expect(statusOf(one.got)).toBe(200);
    one.socket.write("\r\nCONNECT x:1");
    await until(() => target.seen === "GET /1\r\nCONNECT x:1");
    target.sockets[0]?.write("answer");
    await until(() => one.got.endsWith("banner answer"));
  });

  test("stays open to the target when the client has ended its side, and the other way round", async () => {
    const target = await tcp((socket) => socket.on("end", () => socket.end("after your end")));
    const { path } = await opened([`localhost:${target.port}`]);
    const one = await client(path, connectTo(`localhost:${target.port}`));
    await until(() => one.got.includes("\r\n\r\n"));
    one.socket.end("last words");
    await until(() => one.closed);
    expect([target.seen, bodyOf(one.got)]).toEqual(["last words", "after your end"]);

    const silent = await tcp((socket) => socket.end("bye"));
    const other = await opened([`localhost:${silent.port}`]);
    const two = connect({ path: other.path, allowHalfOpen: true });
    two.resume().write(connectTo(`localhost:${silent.port}`));
    await once(two, "end");
    two.end("still heard");
    await until(() => silent.seen === "still heard");
  });

  test("ends on both sides when one of them resets it", async () => {
    const target = await tcp();
    const { path } = await opened([`localhost:${target.port}`]);
    const one = await client(path, connectTo(`localhost:${target.port}`));
    const two = await client(path, connectTo(`localhost:${target.port}`));
    await until(() => target.sockets.length === 2 && two.got !== "" && one.got !== "");
    target.sockets[0]?.resetAndDestroy();
    await until(() => one.closed || two.closed);
    (one.closed ? two : one).socket.destroy();
    await until(() => target.sockets.every((socket) => socket.destroyed || socket.readableEnded));
  });

  test("ends after a silence that is too long, and not while bytes pass", async () => {
    await withMoreTime(300, async (idleMs) => {
      const target = await tcp();
      const { path } = await opened([`localhost:${target.port}`], { idleMs });
      const silent = await client(path, connectTo(`localhost:${target.port}`));
      const unasked = await client(path);
      await until(() => target.sockets.length === 1);
      const busy = await client(path, connectTo(`localhost:${target.port}`));
      await until(() => target.sockets.length === 2);
      const sending = setInterval(() => target.sockets[1]?.write("."), 10);
      ends.push(() => clearInterval(sending));
      await until(() => silent.closed && unasked.closed);
      const had = busy.got.length;
      await until(() => busy.closed || busy.got.length > had + 5);
      expect(busy.closed).toBe(false);
    });
  });

  test("that is refused reads no request after it", async () => {
    const target = await tcp();
    const { path, refused } = await opened([`localhost:${target.port}`]);
    const next = getOf(`http://localhost:${target.port}/`);
    const answer = await exchange(path, connectTo("10.0.0.1:80") + next + next);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect([target.sockets.length, refused.length]).toEqual([0, 1]);
  });
});

describe("a plain request", () => {
  test("goes on with its own headers, and those of the connection are left out", async () => {
    const target = await tcp((socket) => {
      socket.on("data", () => {
        socket.end(
          "HTTP/1.1 201 Made\r\nSet-Cookie: a\r\nSet-Cookie: b\r\nKeep-Alive: x\r\nX-Hop: 1\r\n" +
            "Connection: X-Hop\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nok",
        );
      });
    });
    const { path } = await opened([`localhost:${target.port}`]);
    const headers = [
      "Proxy-Authorization: Basic c2VjcmV0",
      "Proxy-Connection: keep-alive",
      "Connection: X-Mine, keep-alive, Content-Length",
      "Upgrade: websocket",
      "Keep-Alive: 5",
      "TE: trailers",
      "X-Mine: 1",
      "x-twice: 1",
      "X-Twice: 2",
      "__proto__: own",
      "Content-Length: 5",
      "",
    ].join("\r\n");
    const url = `HTTP://user:password@localhost:${target.port}/a/../b%20c?d=http://x/#part`;
    const answer = await exchange(path, `${getOf(url, headers)}hello`);
    expect(target.seen.split("\r\n")).toEqual([
      "GET /a/../b%20c?d=http://x/ HTTP/1.1",
      `Host: localhost:${target.port}`,
      "x-twice: 1",
      "x-twice: 2",
      "__proto__: own",
      "Content-Length: 5",
      "Connection: close",
      "",
      "hello",
    ]);
    expect(answer.split("\r\n")).toEqual([
      "HTTP/1.1 201 Made",
      "Set-Cookie: a",
      "Set-Cookie: b",
      "Content-Encoding: gzip",
      "Content-Length: 2",
      "Connection: close",
      "",
      "ok",
    ]);
  });

  test("streams both ways", async () => {
    const parts: string[] = [];
    const port = await http((request, response) => {
      request.on("data", (bytes: Buffer) => {
        parts.push(String(bytes));
        response.write(`echo ${bytes}`);
      });
      request.on("end", () => response.end("end"));
    });
    const { path } = await opened([`localhost:${port}`]);
    const one = await client(
      path,
      `POST http://localhost:${port}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n`,
    );
    await until(() => one.got.includes("echo one"));
    one.socket.write("3\r\ntwo\r\n");
    await until(() => one.got.includes("echo two"));
    one.socket.write("0\r\n\r\n");
    await until(() => one.closed);
    expect(one.got).toEndWith("3\r\nend\r\n0\r\n\r\n");
    expect(parts).toEqual(["one", "two"]);
  });

  test("has one length at the target, whatever its method", async () => {
    const target = await tcp((socket) => {
      socket.on("data", () => {
        if (target.seen.endsWith("0\r\n\r\n")) socket.end("HTTP/1.1 204 No Content\r\n\r\n");
      });
    });
    const { path } = await opened([`localhost:${target.port}`]);
    const smuggled = "GET /admin HTTP/1.1\r\n\r\n";
    const body = `${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`;
    const answer = await exchange(
      path,
      getOf(`http://localhost:${target.port}/`, "Transfer-Encoding: chunked\r\n") + body,
    );
    expect(statusOf(answer)).toBe(204);
    expect(target.seen).toContain(`Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n${body}`);
  });

  test("passes on as much of a body as was announced, and no request after it", async () => {
    const seen: string[] = [];
    const port = await http((request, response) => {
      request.on("data", (bytes) => seen.push(`${request.method} ${bytes}`));
      request.on("end", () => response.end());
    });
    const { path } = await opened([`localhost:${port}`]);
    const post = `POST http://localhost:${port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello`;
    const answer = await exchange(path, `${post} and more${post}`);
    expect(statusOf(answer)).toBe(200);
    expect(seen).toEqual(["POST hello"]);
    expect((await exchange(path, post + post)).match(/HTTP\/1\.1 200/g)).toHaveLength(1);
    expect(seen).toEqual(["POST hello", "POST hello"]);
  });

  test("whose answer breaks off ends without the end of an answer", async () => {
    const answers = [
      "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\npart",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\npart",
    ];
    for (const text of answers) {
      const target = await tcp((socket) => socket.once("data", () => socket.end(text)));
      const { path } = await opened([`localhost:${target.port}`]);
      const answer = await exchange(path, getOf(`http://localhost:${target.port}/`));
      expect(answer).toContain("part");
      expect(answer).not.toContain("0\r\n\r\n");
    }
  });

  test.each([
    ["SSH-2.0-OpenSSH\r\n", 502],
    ["HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\nzzz", 502],
    [`HTTP/1.1 200 OK\r\nA: ${"a".repeat(100_000)}\r\n\r\n`, 502],
    ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 502],
    ["", 502],
    [
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\nbody",
      200,
    ],
    ["HTTP/1.0 200 OK\r\n\r\nuntil the end", 200],
    ["HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\n\r\n", 304],
  ])("whose answer is %j is answered with %d", async (text, status) => {
    const target = await tcp((socket) => socket.once("data", () => socket.end(text)));
    const { path } = await opened([`localhost:${target.port}`]);
    const answer = await exchange(path, getOf(`http://localhost:${target.port}/`));
    expect(statusOf(answer)).toBe(status);
  });

  test("that no server takes is answered with 502", async () => {
    const closed = await tcp();
    const { path } = await opened([`localhost:${closed.port}`]);
    await ends.pop()?.();
    const port = await freePort();
    const other = await opened([`localhost:${port}`]);
    const answer = await exchange(other.path, getOf(`http://localhost:${port}/`));
    expect([statusOf(answer), answer]).toEqual([502, expect.stringContaining("unreachable: ")]);
    expect(existsSync(path)).toBe(false);
  });
});

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

test.each([
  ["no HTTP", "\x16\x03\x01\x02\r\n\r\n"],
  ["a request for a path", "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"],
  ["a request for *", "OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n"],
  ["a request for https", getOf("https://example.com/")],
  ["a request for a file", getOf("file:///etc/passwd")],
  ["a request without a host", getOf("http:///x")],
  ["a request for an invalid port", getOf("http://example.com:99999/")],
  ["a request for a zone", getOf("http://[fe80::1%25eth0]/")],
  ["CONNECT without a port", connectTo("example.com")],
  ["CONNECT with a path", connectTo("example.com:80/x")],
  ["CONNECT with a user", connectTo("user@example.com:80")],
  ["CONNECT for a zone", connectTo("[fe80::1%eth0]:80")],
  ["two lengths", getOf("http://x/", "Content-Length: 1\r\nContent-Length: 2\r\n")],
  [
    "a length and chunks",
    getOf("http://x/", "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
  ],
  ["another transfer coding", getOf("http://x/", "Transfer-Encoding: gzip, chunked\r\n")],
  ["a folded header", getOf("http://x/", "A: b\r\n c\r\n")],
  ["a space before a colon", getOf("http://x/", "Content-Length : 5\r\n")],
  ["a very long header", getOf("http://x/", `A: ${"a".repeat(1_000_000)}\r\n`)],
  ["headers without end", `GET http://x/ HTTP/1.1\r\nHost: x\r\n${"A: b\r\n".repeat(200_000)}`],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
])("%s is answered with 400", async (_, text) => {
  const resolve = () => Promise.reject(new Error("must not be asked"));
  const { path, refused } = await opened([], { resolve });
  expect(statusOf(await exchange(path, text))).toBe(400);
  expect(refused).toEqual([]);
});

test("200 connections at once are served, and one over the limit is answered with 503", async () => {
  const target = await tcp((socket) => socket.on("data", (bytes) => socket.write(bytes)));
  const { path } = await opened([`localhost:${target.port}`], { connections: 200 });
  const all = await Promise.all(
    Array.from({ length: 200 }, () => client(path, `${connectTo(`localhost:${target.port}`)}hi`)),
  );
  await until(() => all.every((one) => one.got.endsWith("\r\n\r\nhi")));
  expect(statusOf(await exchange(path, ""))).toBe(503);
  all[0]?.socket.destroy();
  await until(() => target.sockets.some((socket) => socket.readableEnded || socket.destroyed));
  await until(async () => statusOf(await exchange(path, connectTo("10.0.0.1:80"))) === 403);
});

test("clients that vanish at any moment leave nothing behind", async () => {
  const target = await tcp();
  const host = `localhost:${target.port}`;
  const { path, close } = await opened([host]);
  const stages = [
    "",
    "CONN",
    connectTo(host),
    getOf(`http://${host}/`),
    `POST http://${host}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhello`,
    `POST http://${host}/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n`,
  ];
  for (const stage of stages) {
    for (const end of ["destroy", "end"] as const) {
      const one = await client(path, stage);
      one.socket[end]();
    }
  }
  await until(() => target.sockets.every((socket) => socket.destroyed || socket.readableEnded));
  await close();
});

test("a client that vanishes while a name is resolved has no connection made for it", async () => {
  const target = await tcp();
  const answer = Promise.withResolvers<string[]>();
  let asked = 0;
  const resolve = () => {
    asked++;
    return answer.promise;
  };
  const { path } = await opened([`db.example:${target.port}`], { resolve });
  const one = await client(path, connectTo(`db.example:${target.port}`));
  await until(() => asked === 1);
  one.socket.destroy();
  const two = await client(path, connectTo(`db.example:${target.port}`));
  await until(() => asked === 2);
  answer.resolve(["127.0.0.1"]);
  await until(() => two.got !== "");
  await until(() => target.sockets.length >= 1);
  two.socket.write("only this one");
  await until(() => target.seen === "only this one");
});

test("an error in onRefused ends that connection only", async () => {
  const path = newPath();
  const proxy = await openEgressProxy(path, { allow: [] }, () => {
    throw new Error("of the caller");
  });
  ends.push(proxy.close);
  expect(await exchange(path, connectTo("10.0.0.1:80"))).toBe("");
  expect(statusOf(await exchange(path, connectTo("nonsense")))).toBe(400);
});

describe("programs use it", () => {
  /** The proxy at a port, as what runs inside a sandbox shows it. */
  async function relayed(path: string): Promise<string> {
    const port = await listening(
      createServer({ allowHalfOpen: true }, (one) => {
        const other = connect({ path, allowHalfOpen: true });
        other.on("error", () => one.destroy());
        one.on("error", () => other.destroy());
        one.pipe(other).pipe(one);
      }),
    );
    return `http://127.0.0.1:${port}`;
  }

  async function outputOf(command: string[], env: Record<string, string> = {}): Promise<string> {
    const child = Bun.spawn(command, {
      env: { ...process.env, NO_PROXY: "", no_proxy: "", ...env },
      stdout: "pipe",
      stderr: "inherit",
    });
    return child.stdout.text();
  }

  const programs: [string, (proxy: string, url: string) => Promise<string>][] = [
    ["curl", (proxy, url) => outputOf(["curl", "-s", "-x", proxy, "-d", "hello", url])],
    [
      "curl in a tunnel",
      (proxy, url) => outputOf(["curl", "-s", "-p", "-x", proxy, "-d", "hello", url]),
    ],
    [
      "fetch of Bun",
      (proxy, url) =>
        outputOf([process.execPath, "-e", fetchOf(url)], { HTTP_PROXY: proxy, http_proxy: proxy }),
    ],
    [
      "node:http of Node",
      (proxy, url) =>
        outputOf([
          "node",
          "-e",
          `const r = require("node:http").request(${JSON.stringify(proxy)}, { method: "POST", path: ${JSON.stringify(url)} },
            (answer) => answer.pipe(process.stdout)); r.end("hello");`,
        ]),
    ],
    [
      "fetch of Node, where it knows proxies",
      (proxy, url) =>
        outputOf(["node", "-e", fetchOf(url)], { HTTP_PROXY: proxy, NODE_USE_ENV_PROXY: "1" }),
    ],
  ];
  const fetchOf = (url: string) =>
    `fetch(${JSON.stringify(url)}, { method: "POST", body: "hello" }).then((a) => a.text()).then(console.log)`;

  test.each(programs.filter(([name]) => Bun.which(name.startsWith("curl") ? "curl" : "node")))(
    "%s",
    async (_, run) => {
      const port = await http((request, response) => {
        request.on("data", (bytes) => response.write(`${request.url} ${bytes}`));
        request.on("end", () => response.end());
      });
      const { path } = await opened([`localhost:${port}`]);
      const proxy = await relayed(path);
      expect((await run(proxy, `http://localhost:${port}/a?b`)).trim()).toBe("/a?b hello");
    },
  );
});

describe("the socket", () => {
  test("is for this user alone, and is removed with all connections", async () => {
    const target = await tcp();
    const { path, close } = await opened([`localhost:${target.port}`], {
      resolve: () => new Promise(() => {}),
    });
    const mask = process.umask();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(process.umask()).toBe(mask);
    const waiting = await client(path, connectTo("slow.example:443"));
    const idle = await client(path);
    const tunnel = await client(path, connectTo(`127.0.0.1:${target.port}`));
    await until(() => target.sockets.length === 1);
    await Promise.all([close(), close()]);
    await until(() => waiting.closed && idle.closed && tunnel.closed);
    await until(() => target.sockets.every((one) => one.destroyed || one.readableEnded));
    expect(existsSync(path)).toBe(false);
  });

  test("can be made through a folder's descriptor", async () => {
    const descriptor = openSync(folder, "r");
    const name = `by-descriptor-${"n".repeat(60)}`;
    const proxy = await openEgressProxy(`/proc/self/fd/${descriptor}/${name}`, { allow: [] });
    expect(existsSync(join(folder, name))).toBe(true);
    await proxy.close();
    closeSync(descriptor);
    expect(existsSync(join(folder, name))).toBe(false);
  });

  test("that can't be made is an error in one line", async () => {
    const long = join(folder, "l".repeat(100));
    expect(await messageOf(openEgressProxy(long, { allow: [] }))).toBe(
      `proxy socket ${long}: longer than 107 bytes`,
    );
    const missing = join(folder, "missing", "s");
    expect(await messageOf(openEgressProxy(missing, { allow: [] }))).toStartWith(
      `proxy socket ${missing}: ENOENT`,
    );
    const taken = newPath();
    writeFileSync(taken, "kept");
    expect(await messageOf(openEgressProxy(taken, { allow: [] }))).toStartWith(
      `proxy socket ${taken}: EADDRINUSE`,
    );
    expect(statSync(taken).size).toBe(4);
  });
});
