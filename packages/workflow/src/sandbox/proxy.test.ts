import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { closeSync, existsSync, openSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import {
  bodyOf,
  client,
  connectTo,
  ends,
  exchange,
  folder,
  getOf,
  http,
  listening,
  newPath,
  opened,
  statusOf,
  tcp,
  useEgress,
} from "../../test/fixtures/egress.ts";
import { messageOf, until } from "../../test/fixtures/until.ts";
import { openEgressProxy } from "./proxy.ts";

useEgress();

describe("a tunnel", () => {
  test("carries bytes both ways, including bytes sent along with the request", async () => {
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

  test("stays open in one direction when the client or the target has ended its side", async () => {
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

  test("ends on both sides when one side resets it", async () => {
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

  test("ends after the idle timeout, but not while bytes pass", async () => {
    let now = 0;
    const timers = new Set<{ due: number; act: () => void }>();
    const advance = (ms: number): void => {
      now += ms;
      for (const timer of timers) if (timer.due <= now) timer.act();
    };
    const target = await tcp();
    const { path } = await opened([`localhost:${target.port}`], {
      idleMs: 100,
      startTimer(act, ms) {
        const timer = { due: now + ms, act };
        timers.add(timer);
        const refresh = () => void (timer.due = now + ms);
        return { refresh, [Symbol.dispose]: () => void timers.delete(timer) };
      },
    });
    const silent = await client(path, connectTo(`localhost:${target.port}`));
    const unasked = await client(path);
    await until(() => target.sockets.length === 1 && timers.size === 2);
    const busy = await client(path, connectTo(`localhost:${target.port}`));
    await until(() => target.sockets.length === 2);
    advance(60);
    target.sockets[1]?.write("news");
    await until(() => busy.got.endsWith("news"));
    advance(60);
    await until(() => silent.closed && unasked.closed && timers.size === 1);
    target.sockets[1]?.write("more");
    await until(() => busy.got.endsWith("more"));
    advance(100);
    await until(() => busy.closed);
  });

  test("that is refused does not read another request", async () => {
    const target = await tcp();
    const { path, refused } = await opened([`localhost:${target.port}`]);
    const next = getOf(`http://localhost:${target.port}/`);
    const answer = await exchange(path, connectTo("10.0.0.1:80") + next + next);
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect([target.sockets.length, refused.length]).toEqual([0, 1]);
  });
});

test("200 connections at once are served, and another connection is answered with 503", async () => {
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

test("clients that disconnect at any moment leak nothing", async () => {
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

test("a client that disconnects during name resolution causes no connection", async () => {
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
  ends.push(() => proxy.close());
  expect(await exchange(path, connectTo("10.0.0.1:80"))).toBe("");
  expect(statusOf(await exchange(path, connectTo("nonsense")))).toBe(400);
});

describe("the proxy works with", () => {
  /** Makes the proxy available at a port, like inside a sandbox. */
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

  const knowsProxies = () =>
    Number(Bun.spawnSync(["node", "-p", "parseInt(process.versions.node)"]).stdout.toString()) >=
    24;
  const isThere = (name: string): boolean => {
    if (name.startsWith("curl")) return Bun.which("curl") !== null;
    if (!name.endsWith("proxies")) return !name.endsWith("Node") || Bun.which("node") !== null;
    return Bun.which("node") !== null && knowsProxies();
  };

  test.each(programs.filter(([name]) => isThere(name)))("%s", async (_, run) => {
    const port = await http((request, response) => {
      request.on("data", (bytes) => response.write(`${request.url} ${bytes}`));
      request.on("end", () => response.end());
    });
    const { path } = await opened([`known.example:${port}`], {
      resolve: async () => ["127.0.0.1"],
    });
    const proxy = await relayed(path);
    expect((await run(proxy, `http://known.example:${port}/a?b`)).trim()).toBe("/a?b hello");
  });
});

describe("the socket", () => {
  test("is accessible only to this user, and is removed with all connections", async () => {
    const target = await tcp();
    const { path, close } = await opened([`localhost:${target.port}`], {
      resolve: () => new Promise(() => {}),
    });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const waiting = await client(path, connectTo("slow.example:443"));
    const idle = await client(path);
    const tunnel = await client(path, connectTo(`127.0.0.1:${target.port}`));
    await until(() => target.sockets.length === 1);
    await Promise.all([close(), close()]);
    await until(() => waiting.closed && idle.closed && tunnel.closed);
    await until(() => target.sockets.every((one) => one.destroyed || one.readableEnded));
    expect(existsSync(path)).toBe(false);
  });

  test("can be created through a folder's descriptor", async () => {
    const descriptor = openSync(folder, "r");
    const name = `by-descriptor-${"n".repeat(60)}`;
    const proxy = await openEgressProxy(`/proc/self/fd/${descriptor}/${name}`, { allow: [] });
    expect(existsSync(join(folder, name))).toBe(true);
    await proxy.close();
    closeSync(descriptor);
    expect(existsSync(join(folder, name))).toBe(false);
  });

  test("that can't be created causes a one-line error", async () => {
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
