import { afterEach, expect, test } from "bun:test";
import { openRemoteHost, settled } from "@uncaged/workflow/client";
import type { Host, Observed, ThreadRef } from "@uncaged/workflow/host";
import { bundleOf } from "../../../workflow/test/fixtures/bundles.ts";
import { ServingRoot, stopServing } from "../serving.ts";
import { type Faults, Proxy } from "./proxy.ts";

const proxies: Proxy[] = [];
afterEach(async () => {
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  await stopServing();
});

const asking = bundleOf(`
  for (let n = input.steps.length; n < 20; n += 1) {
    if (n === 10) yield step("__wait__", "may I?", { for: "leave" });
    else yield step("count", String(n).repeat(options.size ?? 1), { n });
  }
`);
const version = (n: number): string => bundleOf(`yield step("version", "${n}");`);

async function behind(faults: Faults) {
  const serving = new ServingRoot();
  serving.options = { streams: { heartbeatMs: 100 } };
  await serving.begin();
  const proxy = new Proxy(serving.port);
  proxies.push(proxy);
  const url = await proxy.listen();
  proxy.faults = faults;
  const host = await openRemoteHost(url, { token: serving.token });
  return { serving, proxy, host };
}

async function observed(host: Host, ref: ThreadRef): Promise<Observed[]> {
  const all: Observed[] = [];
  for await (const item of host.observe(ref)) all.push(item);
  return all;
}

/** Returns the records in order, then the events in order, because a live observer may get an event late. */
function sorted(items: Observed[]): unknown[] {
  const records = items.flatMap((item) =>
    item.kind === "event" || item.kind === "status" ? [] : [{ ...item, cursor: "" }],
  );
  const events = items.flatMap((item) => (item.kind === "event" ? [item.event] : []));
  return [...records, ...events];
}

const each: Record<string, Faults> = {
  "holds back each response until its end": { buffers: true },
  "sends each request twice": { doubles: true },
  "loses every second response": { loses: (n) => n % 2 === 0 },
  "cuts every response of a stream": { cutsAfter: (n) => 300 + ((n * 977) % 3000) },
  "delays each piece of a response": { delayMs: 5 },
};

test.each(Object.entries(each))(
  "behind a proxy that %s, changes are made once and streams are complete",
  async (_name, faults) => {
    const { serving, host } = await behind(faults);
    for (const n of [1, 2, 3]) {
      await host.register("versions", serving.write(`v${n}.esm.js`, version(n)));
    }
    const [third, second, first] = (await serving.host.history("versions")).map(({ hash }) => hash);
    expect(await host.rollback("versions")).toMatchObject({ hash: second, previous: third });
    expect((await serving.host.workflow("versions")).hash).toBe(second as string);
    expect(first).toBeDefined();

    await host.register("asking", serving.write("asking.esm.js", asking));
    const place = { cwd: "/", env: {} };
    const options = { size: 100 };
    const ref = await host.start({ workflow: "asking", options, ...place });
    const live = (async () => {
      const items: Observed[] = [];
      for await (const item of host.observe(ref)) {
        items.push(item);
        if (item.kind !== "status" || item.state.status !== "waiting") continue;
        await host.control(ref, { kind: "answer", input: { content: "yes" }, env: {} });
      }
      return items;
    })();
    const seen = await live;
    const items = await observed(serving.host, ref);
    expect(await observed(host, ref)).toEqual(items);
    expect(sorted(seen)).toEqual(sorted(items));
    const view = await serving.host.read(ref);
    expect(await host.read(ref)).toEqual(view);
    expect(view.steps.filter(({ role }) => role === "__input__")).toHaveLength(1);

    const fork = await host.fork(ref, { keep: { atStep: 3 }, env: {} });
    await settled(host, fork);
    expect((await host.threads()).rows).toHaveLength(2);
    await host.control(fork, { kind: "kill", env: {} });
    expect((await serving.host.read(fork)).status).toBe("killed");
    await host.remove(fork);
    expect((await host.trash()).map(({ threadId }) => threadId)).toEqual([fork.threadId]);
    await host.restore(fork.threadId);
    expect((await serving.host.threads()).rows).toHaveLength(2);

    const [log, whole]: [unknown[], unknown[]] = [[], []];
    for await (const line of host.log(ref)) log.push(line);
    for await (const line of serving.host.log(ref)) whole.push(line);
    expect(log).toEqual(whole);
    expect((await host.verify()).problems).toEqual([]);
  },
  60_000,
);
