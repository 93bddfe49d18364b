import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { open, useConsole } from "./browser.ts";
import type { Given, Tried } from "./client-page.ts";

/* Tests the client for other runtimes in a separate page, in Chromium. */
setDefaultTimeout(180_000);

let program = "";

/** Serves the page. A proxy also passes the API on, so that the page has the origin of the API. */
function site(passOn?: (request: Request, path: string) => Promise<Response>) {
  return Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      const html = { "Content-Type": "text/html" };
      if (pathname === "/page")
        return new Response('<script type="module" src="/client.js"></script>', { headers: html });
      if (pathname === "/client.js")
        return new Response(program, { headers: { "Content-Type": "text/javascript" } });
      return (await passOn?.(request, pathname)) ?? new Response(null, { status: 404 });
    },
  });
}

const other = site();
const proxy = site((request, path) => {
  const { headers, method, body } = request;
  return fetch(`http://127.0.0.1:${serving.port}${path}`, { headers, method, body });
});
const serving = useConsole("asker");
serving.options = {
  allowOrigins: [`http://127.0.0.1:${other.port}`],
  publicUrl: `http://127.0.0.1:${proxy.port}`,
};

beforeAll(async () => {
  const { outputs } = await Bun.build({
    entrypoints: [join(import.meta.dir, "client-page.ts")],
    target: "browser",
  });
  program = (await outputs[0]?.text()) ?? "";
});
afterAll(async () => {
  await Promise.all([other.stop(true), proxy.stop(true)]);
});

async function pageAt(url: string): Promise<Page> {
  const page = await open(serving);
  await page.goto(url);
  await page.waitForFunction(() => "tried" in globalThis);
  return page;
}

const tried = (page: Page, url: string, token = serving.token): Promise<Tried> =>
  page.evaluate(
    (given) => (globalThis as unknown as { tried: (one: Given) => Promise<Tried> }).tried(given),
    { url, token },
  );

const whole = (threads: number) => ({
  status: "completed",
  seen: ["__wait__ may I?", "__input__ gladly", "heard gladly", "change: thread"],
  threads,
});
const direct = () => `http://127.0.0.1:${serving.port}`;

test("a page of an allowed origin, and its worker, start, observe and answer a thread", async () => {
  const page = await pageAt(`http://127.0.0.1:${other.port}/page`);
  expect(await tried(page, direct())).toEqual(whole(1));
  const answer = await page.evaluate(
    (given) =>
      new Promise<unknown>((resolve, reject) => {
        const worker = new Worker("/client.js", { type: "module" });
        worker.addEventListener("message", ({ data }) => resolve(data));
        worker.addEventListener("error", ({ message }) => reject(new Error(message)));
        worker.postMessage(given, []);
      }),
    { url: direct(), token: serving.token },
  );
  expect(answer).toEqual(whole(2));
  expect(await tried(page, direct(), "wrong")).toMatchObject({ code: "WRONG_TOKEN" });
});

test("a page of the server's own origin needs no permission", async () => {
  const origin = `http://127.0.0.1:${proxy.port}`;
  expect(await tried(await pageAt(`${origin}/page`), origin)).toMatchObject(whole(3));
});

test("a page of another origin is refused, with the option that allows it", async () => {
  const origin = `http://localhost:${other.port}`;
  const page = await pageAt(`${origin}/page`);
  const refused = await tried(page, direct());
  expect(refused).toMatchObject({ code: "NO_SERVER" });
  expect(refused).toMatchObject({ hint: expect.stringContaining(`--allow-origin ${origin}`) });
  expect((await serving.host.threads()).rows.length).toBe(3);
});
