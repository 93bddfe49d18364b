import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import {
  client,
  connectTo,
  ends,
  exchange,
  getOf,
  http,
  opened,
  statusOf,
  tcp,
  useEgress,
} from "../../test/fixtures/egress.ts";
import { until } from "../../test/fixtures/until.ts";

useEgress();

describe("a plain request", () => {
  test("is forwarded with its own headers, without the headers of the connection", async () => {
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
        response.write(`echo ${String(bytes)}`);
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

  test("has exactly one length at the target, for any method", async () => {
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

  test("forwards only the announced length of a body, and no second request", async () => {
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

  test("with a truncated response ends without a complete response", async () => {
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
  ])("with the response %j is answered with %d", async (text, status) => {
    const target = await tcp((socket) => socket.once("data", () => socket.end(text)));
    const { path } = await opened([`localhost:${target.port}`]);
    const answer = await exchange(path, getOf(`http://localhost:${target.port}/`));
    expect(statusOf(answer)).toBe(status);
  });

  test("to a closed port is answered with 502", async () => {
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
