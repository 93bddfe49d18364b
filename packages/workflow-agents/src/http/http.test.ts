import { afterEach, describe, expect, test } from "bun:test";
import { origin, type Origin, redirect } from "../../test/origins.ts";
import { fetchWithinOrigin, type HttpInit, RedirectError } from "./http.ts";

const servers: Origin[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.stop();
});
const serve = (answer?: (url: URL) => Response | null): Origin => {
  const server = origin(answer);
  servers.push(server);
  return server;
};

/** Starts a server that redirects the path `/STATUS` to an address with that status. */
const redirecting = (to: () => string | undefined): Origin =>
  serve(({ pathname }) => {
    const status = Number(pathname.slice(1));
    return status > 0 ? redirect(status, to()) : null;
  });

const failureOf = async (url: string, init?: HttpInit): Promise<RedirectError> => {
  const error: unknown = await fetchWithinOrigin(url, init).catch((thrown: unknown) => thrown);
  if (error instanceof RedirectError) return error;
  throw new Error("not refused", { cause: error });
};

const statuses = [301, 302, 303, 307, 308];
const key = "k-0123456789";

describe.each(statuses)("a redirect with status %i", (status) => {
  test("within the origin keeps headers, method and body as in the Fetch standard", async () => {
    const server = redirecting(() => "there?a=1");
    const headers = { "x-api-key": key, "content-type": "text/csv" };
    for (const method of ["GET", "HEAD", "DELETE", "POST", "PUT"]) {
      const body = method === "POST" || method === "PUT" ? "a,b" : undefined;
      await fetchWithinOrigin(`${server.url}/${status}`, { method, headers, body });
      const becomesGet =
        (status === 303 && method !== "HEAD") || (status < 303 && method === "POST");
      const came = server.came.at(-1);
      expect(came).toMatchObject({
        path: "/there",
        method: becomesGet ? "GET" : method,
        headers: { "x-api-key": key },
        body: becomesGet ? "" : (body ?? ""),
      });
      expect(came?.headers["content-type"]).toBe(
        becomesGet && method !== "GET" ? undefined : "text/csv",
      );
    }
  });

  test("to another origin is followed without the headers of the call", async () => {
    const other = serve();
    const server = redirecting(() => `${other.url}/file?signed=1`);
    const init = { headers: { accept: "text/x-own", "x-tenant": "7" } };
    const response = await fetchWithinOrigin(`${server.url}/${status}`, init);
    expect(response.status).toBe(200);
    expect(other.came).toHaveLength(1);
    expect(other.came[0]).toMatchObject({ path: "/file", method: "GET" });
    expect(other.came[0]?.headers).not.toHaveProperty("x-tenant");
    expect(other.came[0]?.headers.accept).not.toBe("text/x-own");
  });

  const carried: [string, HttpInit][] = [
    ["an Authorization header", { headers: { Authorization: `Bearer ${key}` } }],
    ["a cookie", { headers: { cookie: `session=${key}` } }],
    ["an API key", { headers: { "X-Api-Key": key } }],
    [
      "a header that the caller declares as a credential",
      { headers: { "x-own": key }, hasCredential: true },
    ],
    ["a body", { method: "POST", body: key }],
    ["an empty body", { method: "PUT", body: "" }],
  ];
  test.each(carried)("to another origin is refused for a call with %s", async (_, init) => {
    const other = serve();
    const server = redirecting(() => `${other.url}/taken?token=${key}`);
    const { code, hint, message } = await failureOf(`${server.url}/${status}?token=${key}`, init);
    expect(other.came).toEqual([]);
    expect(code).toBe("REDIRECT_REFUSED");
    expect(message).toContain(`${server.url} redirects to ${other.url}`);
    expect(hint).toContain(other.url);
    expect(message + hint).not.toContain(key);
    expect(message).not.toMatch(/taken|\?|\n/);
  });
});

describe("a redirected call", () => {
  test("does not get its headers back when it returns to its own origin", async () => {
    const first = serve(({ pathname }) =>
      pathname === "/start" ? redirect(302, `${second.url}/on`) : null,
    );
    const second: Origin = serve(() => redirect(302, `${first.url}/end`));
    const response = await fetchWithinOrigin(`${first.url}/start`, {
      headers: { authorization: key, "x-own": "1" },
      hasCredential: false,
    });
    expect(response.status).toBe(200);
    expect(first.came.map(({ path }) => path)).toEqual(["/start", "/end"]);
    for (const { headers } of [...second.came, ...first.came.slice(1)]) {
      expect(Object.keys(headers)).not.toContain("authorization");
      expect(Object.keys(headers)).not.toContain("x-own");
    }
  });

  test("is not sent to another origin after a redirect within the first origin dropped the body", async () => {
    const other = serve();
    const server = serve(({ pathname }) =>
      redirect(303, pathname === "/start" ? "/on" : `${other.url}/`),
    );
    const error = await failureOf(`${server.url}/start`, { method: "POST", body: "secret" });
    expect(error.message).toContain(other.url);
    expect(other.came).toEqual([]);
  });

  test("treats another scheme and another port as another origin", async () => {
    const server = serve(({ port }) => redirect(302, `https://127.0.0.1:${port}/`));
    const { message } = await failureOf(server.url, { headers: { authorization: key } });
    expect(message).toContain(`to ${server.url.replace("http:", "https:")}`);
  });

  test("ignores the user in a Location header", async () => {
    const other = serve();
    const server = serve(({ pathname, host, port }) => {
      if (pathname === "/same") return redirect(302, `http://a:b@${host}/end`);
      if (pathname === "/other") return redirect(302, other.url.replace("//", "//a:b@"));
      // The part before the @ is the user, not the host.
      if (pathname === "/alike") {
        return redirect(302, other.url.replace("//", `//127.0.0.1:${port}@`));
      }
      return null;
    });
    for (const path of ["same", "other", "alike"]) await fetchWithinOrigin(`${server.url}/${path}`);
    expect(other.came).toHaveLength(2);
    for (const { headers } of [...server.came, ...other.came]) {
      expect(headers).not.toHaveProperty("authorization");
    }
    const init = { headers: { authorization: key } };
    expect((await failureOf(`${server.url}/alike`, init)).message).not.toContain("@");
  });

  test("sends the user of the call's URL within the origin, but not to another origin", async () => {
    const other = serve();
    const server = serve(({ pathname }) => {
      if (pathname === "/same") return redirect(302, "/end");
      return pathname === "/other" ? redirect(302, other.url) : null;
    });
    const url = server.url.replace("//", "//me:s3cretpass@");
    await fetchWithinOrigin(`${url}/same`);
    expect(server.came.at(-1)).toMatchObject({
      path: "/end",
      headers: { authorization: `Basic ${btoa("me:s3cretpass")}` },
    });
    expect((await failureOf(`${url}/other`)).message).not.toContain("s3cretpass");
    expect(other.came).toEqual([]);
  });

  test("is returned if the redirect lacks a usable location", async () => {
    const server = redirecting(() => undefined);
    const response = await fetchWithinOrigin(`${server.url}/302`);
    expect([response.status, await response.text()]).toEqual([302, "moved"]);
  });

  test.each(["http://", "file:///etc/passwd", "data:,hello", "javascript:1"])(
    "does not follow %p",
    async (location) => {
      const { message } = await failureOf(`${redirecting(() => location).url}/307`);
      expect(message).toMatch(
        /^http:\/\/127\.0\.0\.1:\d+: redirected to an address that is not http$/,
      );
    },
  );

  test("fails in a loop", async () => {
    const server = redirecting(() => "302");
    const { message } = await failureOf(`${server.url}/302`, { headers: { authorization: key } });
    expect(message).toBe(`${server.url}: redirected more than 20 times`);
    expect(server.came).toHaveLength(21);
  });

  test("returns a long body from another origin", async () => {
    const piece = new Uint8Array(64 * 1024).fill(7);
    let left = 64;
    const pull = (body: ReadableStreamDefaultController<Uint8Array>) => {
      if ((left -= 1) < 0) body.close();
      else body.enqueue(piece);
    };
    const cdn = serve(() => new Response(new ReadableStream({ pull })));
    const server = redirecting(() => cdn.url);
    const response = await fetchWithinOrigin(`${server.url}/302`);
    expect((await response.arrayBuffer()).byteLength).toBe(64 * piece.length);
  });

  test("does not send a stream as its body twice", async () => {
    const server = redirecting(() => "/there");
    const body = new Blob(["once"]).stream();
    const error = await failureOf(`${server.url}/307`, { method: "POST", body });
    expect(error.message).toContain("only once");
  });

  test("ends with its signal", async () => {
    const abort = new AbortController();
    const server = serve(() => {
      abort.abort(new Error("stopped"));
      return redirect(302, "/again");
    });
    const asked = fetchWithinOrigin(server.url, { signal: abort.signal });
    expect(await asked.catch((error: unknown) => String(error))).toContain("stopped");
  });
});
