import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { until } from "../../workflow/test/fixtures/until.ts";
import { type Backend, type Balancer, startBalancer } from "../src/entry/cluster.ts";

const program = join(import.meta.dir, "fixtures/backend.ts");

type Program = Bun.Subprocess<"ignore", "pipe", "inherit"> & Required<Backend>;

const started: Bun.Subprocess[] = [];
let balancer: Balancer | null = null;
afterEach(async () => {
  await balancer?.close();
  balancer = null;
  for (const child of started.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
});

async function startBackend(name: string): Promise<Program> {
  const child = Bun.spawn([process.execPath, program, name], { stdin: "ignore", stdout: "pipe" });
  started.push(child);
  const reader = child.stdout.getReader();
  const { value } = await reader.read();
  reader.releaseLock();
  const port = Number(new TextDecoder().decode(value));
  return Object.assign(child, { port, health: port });
}

/** Starts two backends and a balancer. */
async function pair(): Promise<{ a: Program; b: Program; url: string }> {
  const [a, b] = await Promise.all([startBackend("a"), startBackend("b")]);
  balancer = await startBalancer([a, b].map(({ port, health }) => ({ port, health })));
  return { a, b, url: `http://127.0.0.1:${balancer.port}` };
}

/**
 * Sends requests until `count` have succeeded, each with a new connection. Returns the names of the backends that
 * responded.
 */
async function answers(url: string, count: number): Promise<Set<string>> {
  const seen = new Set<string>();
  for (let done = 0; done < count; ) {
    try {
      const signal = AbortSignal.timeout(20_000);
      seen.add(await (await fetch(url, { keepalive: false, signal })).text());
      done += 1;
    } catch {
      // The backend closed the connection, so retry.
    }
  }
  return seen;
}

/** Sends a request that the backend holds. Resolves with "answered" or "closed". */
const hold = (url: string): Promise<string> =>
  fetch(`${url}/hold`, { keepalive: false }).then(
    () => "answered",
    () => "closed",
  );

test("a killed backend gets no connection, and no request is lost", async () => {
  const { a, url } = await pair();
  expect(await answers(url, 20)).toEqual(new Set(["a", "b"]));
  a.kill("SIGKILL");
  await a.exited;
  expect(await answers(url, 20)).toEqual(new Set(["b"]));
});

test("a frozen backend loses its connections, and gets new connections when it thaws", async () => {
  const { a, b, url } = await pair();
  const held = [hold(url), hold(url)];
  a.kill("SIGSTOP");
  expect(await Promise.race(held)).toBe("closed");
  expect(await answers(url, 20)).toEqual(new Set(["b"]));
  a.kill("SIGCONT");
  b.kill("SIGKILL");
  await b.exited;
  expect(await answers(url, 5)).toEqual(new Set(["a"]));
});

test("a draining backend keeps its connections and gets no new connection", async () => {
  const { a, b, url } = await pair();
  const ended: string[] = [];
  for (const held of [hold(url), hold(url)]) void held.then((how) => ended.push(how));
  a.kill("SIGUSR2");
  await until(async () => (await fetch(`http://127.0.0.1:${a.port}/health`)).status === 503);
  await until(async () => ![...(await answers(url, 10))].includes("a"));
  expect(await answers(url, 20)).toEqual(new Set(["b"]));
  expect(ended).toEqual([]);
  b.kill("SIGKILL");
});

test("the balancer switches to other backends", async () => {
  const { a, url } = await pair();
  const c = await startBackend("c");
  balancer?.use([{ port: c.port, health: c.health }]);
  expect(await answers(url, 10)).toEqual(new Set(["c"]));
  expect(a.exitCode).toBeNull();
});
