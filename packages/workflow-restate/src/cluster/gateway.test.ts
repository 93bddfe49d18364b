import { afterEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Gateway, startGateway } from "./gateway.ts";

const token = "the-right-one";
const folder = mkdtempSync(join(tmpdir(), "uw-gateway-"));
const servers: Bun.Server<unknown>[] = [];
let gateway: Gateway | null = null;
afterEach(async () => {
  await gateway?.close();
  for (const server of servers.splice(0)) await server.stop(true);
  rmSync(folder, { recursive: true, force: true });
});

/** A server on a Unix socket that counts its requests. */
function serve(path: string, answer?: (request: Request) => Response | Promise<Response>) {
  mkdirSync(join(path, ".."), { recursive: true });
  const seen: Request[] = [];
  const server = Bun.serve({
    unix: path,
    fetch(request) {
      seen.push(request);
      return answer?.(request) ?? new Response("served");
    },
  });
  servers.push(server);
  return seen;
}

function start(...sockets: string[]): string {
  gateway = startGateway(sockets, { token });
  return `http://127.0.0.1:${gateway.port}`;
}

const withToken = { headers: { authorization: `Bearer ${token}` } };

describe("a gateway", () => {
  const path = join(folder, "a.sock");

  test.each([
    [undefined, "missing token"],
    ["", "invalid token"],
    ["Bearer", "invalid token"],
    ["Bearer ", "invalid token"],
    ["Bearer wrong", "invalid token"],
    [`Bearer ${token}x`, "invalid token"],
    [`Bearer ${token}, Bearer ${token}`, "invalid token"],
    [`Basic ${token}`, "invalid token"],
    [token, "invalid token"],
  ])("refuses the authorization %p", async (authorization, message) => {
    const seen = serve(path);
    const url = start(path);
    const headers = new Headers(
      authorization === undefined ? [] : [["authorization", authorization]],
    );
    for (const method of ["GET", "POST", "DELETE", "OPTIONS"]) {
      const response = await fetch(`${url}/x?token=${token}`, { method, headers });
      expect([response.status, await response.json()]).toEqual([401, { message }]);
    }
    expect(seen).toEqual([]);
  });

  test("refuses a request without the token after a request with the token on the same connection", async () => {
    const seen = serve(path);
    const { port } = new URL(start(path));
    const { promise, resolve } = Promise.withResolvers<string>();
    const request = (line: string) => `GET /x HTTP/1.1\r\nHost: x\r\n${line}\r\n\r\n`;
    let text = "";
    await Bun.connect({
      hostname: "127.0.0.1",
      port: Number(port),
      socket: {
        open: (socket) => void socket.write(request(`Authorization: Bearer ${token}`)),
        data(socket, bytes) {
          const isFirst = !text.includes("served");
          text += bytes.toString();
          if (isFirst && text.includes("served")) socket.write(request("Connection: close"));
        },
        close: () => resolve(text),
      },
    });
    expect((await promise).match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 401"]);
    expect(seen).toHaveLength(1);
  });

  test("forwards method, path, body and response, and removes the token", async () => {
    const seen = serve(path, async (request) => {
      const { method, url } = request;
      const body = await request.text();
      return Response.json({ method, url, body }, { status: 409, headers: { "x-own": "yes" } });
    });
    const url = start(path);
    const response = await fetch(`${url}/thread/a%2Fb/start?x=%20y`, {
      ...withToken,
      method: "PATCH",
      body: "text",
    });
    expect([response.status, response.headers.get("x-own")]).toEqual([409, "yes"]);
    expect(await response.json()).toEqual({
      method: "PATCH",
      url: "http://restate/thread/a%2Fb/start?x=%20y",
      body: "text",
    });
    expect(seen[0]?.headers.get("authorization")).toBeNull();
  });

  test("tries another server if one is gone, and responds with 502 if all servers are gone", async () => {
    const url = start(join(folder, "gone.sock"), path);
    const statuses = async () => {
      const all = Array.from({ length: 4 }, () => fetch(url, withToken));
      return (await Promise.all(all)).map(({ status }) => status);
    };
    expect(await statuses()).toEqual([502, 502, 502, 502]);
    serve(path);
    expect(await statuses()).toEqual([200, 200, 200, 200]);
  });

  test("reaches a socket whose path is longer than a socket address", async () => {
    const long = join(folder, "x".repeat(150), "a.sock");
    const before = process.cwd();
    mkdirSync(join(long, ".."), { recursive: true });
    process.chdir(join(long, ".."));
    serve("a.sock");
    process.chdir(before);
    const response = await fetch(start(long), withToken);
    expect(await response.text()).toBe("served");
  });
});
