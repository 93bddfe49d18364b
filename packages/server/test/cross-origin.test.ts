import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { request, send } from "./raw.ts";
import { Serving, stopServing } from "./serving.ts";

const allowed = "http://localhost:5173";
const foreign = [
  "null",
  "http://evil.example",
  "http://localhost:5174",
  "https://localhost:5173",
  "http://localhost:5173.evil.example",
  "http://localhost:5173/",
];

const serving = new Serving();
serving.options = { allowOrigins: [allowed] };
beforeAll(() => serving.begin("counter"));
afterAll(stopServing, 180_000);

/** Returns the status of a page's request, and the origin that may read the response. */
async function answer(first: string, headers: Record<string, string>) {
  const own = { Host: `127.0.0.1:${serving.port}`, "Sec-Fetch-Site": "cross-site" };
  const got = await send(serving.port, request(first, { ...own, ...headers }));
  return [got.status, got.headers.get("access-control-allow-origin") ?? null];
}

const bearer = () => ({ Authorization: `Bearer ${serving.token}` });

describe("a page of an allowed origin", () => {
  const Origin = allowed;

  test("reads responses with the token, and the reason of a refusal without it", async () => {
    for (const path of ["/api/threads", "/workflow/x/status", "/api/nowhere"]) {
      const [status, reader] = await answer(`GET ${path}`, { Origin, ...bearer() });
      expect([status === 200 || status === 404, reader]).toEqual([true, allowed]);
      expect(await answer(`GET ${path}`, { Origin })).toEqual([401, allowed]);
    }
  });

  test("can send preflight requests without the token", async () => {
    const asks = { Origin, "Access-Control-Request-Method": "POST" };
    expect(await answer("OPTIONS /api/threads", asks)).toEqual([204, allowed]);
    expect(await answer("OPTIONS /api/threads", { Origin })).toEqual([401, allowed]);
  });

  test("can't use the console's cookie, and gets no cookie", async () => {
    const entry = await serving.fetch(`/?token=${serving.token}`, { redirect: "manual" });
    const Cookie = entry.headers.get("set-cookie")?.split(";")[0] ?? "";
    expect(await answer("GET /api/threads", { Cookie, "Sec-Fetch-Site": "none" })).toEqual([
      200,
      null,
    ]);
    expect(await answer("GET /api/threads", { Origin, Cookie })).toEqual([401, allowed]);
    expect(await answer(`GET /?token=${serving.token}`, { Origin })).toEqual([401, allowed]);
  });

  test("is refused if it names another host", async () => {
    const Host = `evil.example:${serving.port}`;
    expect((await answer("GET /api/threads", { Origin, Host, ...bearer() }))[0]).toBe(403);
  });
});

test("any other page is refused, even with the token, and can't read a response", async () => {
  for (const Origin of foreign) {
    for (const first of ["GET /api/threads", "OPTIONS /api/threads", "GET /"]) {
      const asks = { Origin, ...bearer(), "Access-Control-Request-Method": "GET" };
      expect([Origin, ...(await answer(first, asks))]).toEqual([Origin, 403, null]);
    }
  }
});
