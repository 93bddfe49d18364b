import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { connect } from "node:net";
import type { Failure, ThreadRow } from "../src/entry/api-types.ts";
import { request, send } from "./raw.ts";
import { Serving, stopServing } from "./serving.ts";

let serving: Serving;
let id: string;

beforeAll(async () => {
  serving = await Serving.start("counter");
  id = await serving.run("counter");
  await serving.until(id, "completed");
});
afterAll(stopServing);

/** Headers of a program with full access. */
const own = () => ({
  Host: `127.0.0.1:${serving.port}`,
  Authorization: `Bearer ${serving.token}`,
});

const codeOf = (body: string) => (JSON.parse(body) as Failure).error.code;

/** Sends a request with other headers. Returns the status and the error code. */
async function refusal(first: string, headers: Record<string, string>, body = "") {
  const answer = await send(serving.port, request(first, { ...own(), ...headers }, body));
  return `${answer.status} ${answer.status < 400 ? "" : codeOf(answer.body)}`.trim();
}

describe("for every path and method", () => {
  const paths = [
    "GET /",
    "GET /api/threads",
    "GET /nowhere",
    "POST /api/threads",
    "OPTIONS /api/threads",
  ];
  const hosts = [
    "evil.example",
    "evil.example:PORT",
    "127.0.0.1",
    "127.0.0.1:1",
    "127.0.0.1:PORT.evil.example",
    "evil@127.0.0.1:PORT",
    "",
  ];

  test.each(paths)("%s refuses a foreign Host", async (first) => {
    for (const host of hosts) {
      const Host = host.replace("PORT", String(serving.port));
      expect(await refusal(first, { Host })).toMatch(/^403 FOREIGN_HOST$|^400$/);
    }
  });

  test.each(paths)("%s refuses a foreign page", async (first) => {
    const site = (port: number) => `http://127.0.0.1:${port}`;
    for (const Origin of [
      "null",
      "http://evil.example",
      site(1),
      `https://127.0.0.1:${serving.port}`,
    ]) {
      expect(await refusal(first, { Origin })).toBe("403 FOREIGN_ORIGIN");
    }
    for (const from of ["cross-site", "same-site", "whatever"]) {
      expect(await refusal(first, { "Sec-Fetch-Site": from })).toBe("403 FOREIGN_ORIGIN");
    }
  });

  test.each(paths)("%s requires the token", async (first) => {
    expect(await refusal(first, { Authorization: "" })).toBe("401 NO_TOKEN");
    expect(await refusal(first, { Authorization: "Basic abc" })).toBe("401 NO_TOKEN");
    for (const token of ["x", `${serving.token}x`, serving.token.slice(1)]) {
      expect(await refusal(first, { Authorization: `Bearer ${token}` })).toBe("401 WRONG_TOKEN");
    }
  });
});

test("an HTTP/1.0 request without a Host is refused", async () => {
  const { status } = await send(serving.port, "GET /api/threads HTTP/1.0\r\n\r\n");
  expect([400, 403]).toContain(status);
});

test("the server's own names and its own page are accepted", async () => {
  const { port } = serving;
  for (const Host of [
    `127.0.0.1:${port}`,
    `localhost:${port}`,
    `LOCALHOST:${port}`,
    `[::1]:${port}`,
  ]) {
    expect(await refusal("GET /api/threads", { Host })).toBe("200");
    const page = { Host, Origin: `http://${Host}`, "Sec-Fetch-Site": "same-origin" };
    expect(await refusal("GET /api/threads", page)).toBe("200");
  }
});

describe("the printed URL", () => {
  const visit = (path: string, headers: Record<string, string> = {}) =>
    send(serving.port, request(`GET ${path}`, { Host: `127.0.0.1:${serving.port}`, ...headers }));

  test("gives a browser a cookie, and redirects to the URL without the token", async () => {
    const { status, headers } = await visit(`/threads?a=1&token=${serving.token}`);
    expect(status).toBe(303);
    expect(headers.get("location")).toBe("/threads?a=1");
    const cookie = headers.get("set-cookie") ?? "";
    expect(cookie).toMatch(/; HttpOnly/);
    expect(cookie).toMatch(/; SameSite=Strict/);
    const Cookie = cookie.split(";")[0] ?? "";
    expect((await visit("/api/threads", { Cookie })).status).toBe(200);
    expect((await visit("/", { Cookie })).status).toBe(200);
    const stolen = { Cookie, Origin: "http://evil.example" };
    expect((await visit("/api/threads", stolen)).status).toBe(403);
  });

  test("refuses other tokens, and never redirects to another host", async () => {
    expect((await visit("/?token=wrong")).status).toBe(401);
    expect((await visit(`/api/threads?token=${serving.token}`)).status).toBe(401);
    const { headers } = await visit(`//evil.example/?token=${serving.token}`);
    expect(headers.get("location") ?? "").not.toMatch(/^(\/\/|\/\\|http)/);
  });

  test("is explained on a page if a browser comes without its cookie", async () => {
    const browser = { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
    for (const path of ["/", "/threads/x", "/?token=wrong"]) {
      const { status, headers, body } = await visit(path, browser);
      expect({ status, type: headers.get("content-type") }).toEqual({
        status: 401,
        type: "text/html; charset=utf-8",
      });
      expect(body).toContain("uncaged-workflow serve");
      expect(body).not.toContain(serving.token);
    }
    expect((await visit("/api/threads", browser)).headers.get("content-type")).toContain("json");
  });

  test("reloads itself with the cookie if the link is on another site", async () => {
    const link = {
      Accept: "text/html,application/xhtml+xml,*/*;q=0.8",
      "Sec-Fetch-Site": "cross-site",
      "Sec-Fetch-Mode": "navigate",
      "Sec-Fetch-Dest": "document",
    };
    for (const path of ["/", "/threads/x", `/?token=${serving.token}`]) {
      const { status, headers, body } = await visit(path, link);
      expect([status, headers.get("set-cookie")]).toEqual([200, undefined]);
      expect(body).toContain('<meta http-equiv="refresh" content="0">');
      expect(body).not.toContain(serving.token);
    }
    expect((await visit("/api/threads", link)).status).toBe(403);
    expect((await visit("/", { ...link, "Sec-Fetch-Dest": "iframe" })).status).toBe(403);
  });

  test("with a foreign host is refused with a page", async () => {
    const { status, body } = await visit("/", { Host: "evil.example", Accept: "text/html" });
    expect(status).toBe(403);
    expect(body).toContain("<p>Host header not allowed</p>");
  });

  test("can't be used by a page of another site", async () => {
    const evil = { "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors" };
    expect((await visit(`/?token=${serving.token}`, evil)).status).toBe(403);
  });
});

test("every response restricts its page, and none allows another origin", async () => {
  for (const path of ["/", "/api/threads", "/api/nowhere", `/api/threads/${id}`]) {
    const { headers } = await serving.fetch(path);
    expect(headers.get("content-security-policy")).toContain("default-src 'self'");
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("content-security-policy")).not.toContain("unsafe");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect([...headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
  }
});

describe("a body", () => {
  const form = "workflow=counter";

  test("of a form is refused, whatever its content", async () => {
    for (const type of [
      "application/x-www-form-urlencoded",
      "multipart/form-data; boundary=x",
      "text/plain",
      "application/json, text/plain",
    ]) {
      const headers = { "Content-Type": type };
      expect(await refusal("POST /api/threads", headers, form)).toBe("400 BAD_CONTENT_TYPE");
      expect(await refusal(`POST /api/threads/${id}/fork`, headers, form)).toBe(
        "400 BAD_CONTENT_TYPE",
      );
    }
    expect(await refusal("POST /api/threads", {}, form)).toBe("400 BAD_CONTENT_TYPE");
  });

  test("that is not valid JSON, or does not match the schema, is refused", async () => {
    const headers = { "Content-Type": "application/json" };
    const bad: [string, string][] = [
      ["{", "400 BAD_JSON"],
      ["\u0000", "400 BAD_JSON"],
      ["[]", "400 BAD_REQUEST"],
      ["null", "400 BAD_REQUEST"],
      ['{"workflow":1}', "400 BAD_REQUEST"],
      ['{"workflow":"counter","maxRounds":0}', "400 BAD_MAX_ROUNDS"],
      ['{"workflow":"counter","options":{"env":{}}}', "400 BAD_OPTION"],
      ['{"workflow":"counter","threadId":"../x"}', "400 BAD_THREAD_ID"],
      [`{"workflow":${"[".repeat(50_000)}`, "400 BAD_JSON"],
    ];
    for (const [body, expected] of bad) {
      expect(await refusal("POST /api/threads", headers, body)).toBe(expected);
    }
  });

  test("over the limit is refused with its own code", async () => {
    const most = 1024 * 1024;
    for (const length of [most + 1, 100 * most, 1000 * most]) {
      const headers = {
        ...own(),
        "Content-Type": "application/json",
        "Content-Length": String(length),
      };
      const answer = await send(serving.port, request("POST /api/threads", headers));
      expect(`${answer.status} ${codeOf(answer.body)}`).toBe("413 BODY_TOO_LARGE");
    }
  });

  test.each(["/api/threads", "/api/workflows/big?file=big.esm.js"])(
    "of 100 MB without a length is not kept in memory: POST %s",
    async (path) => {
      const before = memoryHeld();
      const type = path.includes("?") ? "application/octet-stream" : "application/json";
      const status = await flood(serving.port, path, { ...own(), "Content-Type": type });
      expect(status).toMatch(/^413 |^closed$/);
      expect(memoryHeld() - before).toBeLessThan(200);
      expect((await serving.fetch("/api/server")).status).toBe(200);
    },
  );
});

/** Sends 100 MB in chunks until the server answers or closes the connection. */
function flood(port: number, path: string, headers: Record<string, string>): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  const chunk = `${(65_536).toString(16)}\r\n${" ".repeat(65_536)}\r\n`;
  const socket = connect(port, "127.0.0.1");
  let left = 1600;
  const pour = () => {
    while (left > 0) {
      left -= 1;
      if (!socket.write(chunk)) {
        socket.once("drain", pour);
        return;
      }
    }
    socket.write("0\r\n\r\n");
  };
  socket.on("connect", () => {
    socket.write(request(`POST ${path}`, { ...headers, "Transfer-Encoding": "chunked" }));
    pour();
  });
  socket.once("data", (bytes) => {
    resolve(bytes.toString().split(" ")[1]?.concat(" ") ?? "");
    socket.destroy();
  });
  socket.on("error", () => resolve("closed"));
  socket.on("close", () => resolve("closed"));
  return promise;
}

/** The memory of the server's process, in MB. */
const memoryHeld = (): number => process.memoryUsage.rss() / 1024 ** 2;

test("no parameter gives access to files outside the storage root", async () => {
  serving.write("secret.data.jsonl", "secret");
  const ways = [
    "../../secret",
    "..%2f..%2fsecret",
    "%2e%2e%2fsecret",
    "..%5c..%5csecret",
    "/etc/passwd",
    "%2fetc%2fpasswd",
    "a%00b",
    "%ff",
    "%",
    ".",
    "..",
    "-rf",
    "x".repeat(5000),
  ];
  const places = [
    "/api/threads/X",
    "/api/threads/X/steps",
    "/api/threads/X/log",
    "/api/threads/X/events",
    "/api/threads/X/ledger",
    "/api/threads/X/family",
    `/api/threads/${id}/diff?with=X`,
    "/api/workflows/X",
    "/api/workflows/X/history",
    "/api/bundles/X",
    "/api/bundles/X/source",
    "/api/bundles/counter/source?file=X",
    "/api/threads?workflow=X",
    "/assets/X",
    "/X",
  ];
  for (const place of places) {
    for (const way of ways) {
      const answer = await send(serving.port, request(`GET ${place.replace("X", way)}`, own()));
      expect(answer.body).not.toContain("root:");
      expect(answer.body).not.toContain("secret\n");
      expect(answer.body).not.toContain(import.meta.dir);
      if (place.startsWith("/api/") && !place.includes("?workflow")) {
        expect([200, 400, 404]).toContain(answer.status);
        if (answer.status === 200)
          expect(place.replace("X", "")).toMatch(/^\/api\/(threads|workflows|bundles)/);
      }
    }
  }
});

test("a workflow's name and a file's name are checked before anything is written", async () => {
  for (const name of ["..%2fx", "%2e%2e", "con", "a b", "x".repeat(65)]) {
    const response = await serving.fetch(`/api/workflows/${name}?file=a.esm.js`, {
      method: "POST",
      body: "x",
      headers: { "Content-Type": "application/octet-stream" },
    });
    expect([400, 404]).toContain(response.status);
  }
  for (const file of [
    "../a.esm.js",
    "/tmp/a.esm.js",
    "a/b.esm.js",
    "",
    "-a.esm.js",
    "a.txt",
    "a.esm.js\0",
  ]) {
    const response = await serving.add("fine", "x", encodeURIComponent(file));
    expect(response.status).toBe(400);
  }
});

test("after these requests, the server still answers and has started no thread", async () => {
  expect((await serving.ok<ThreadRow[]>("/api/threads")).length).toBe(1);
});
