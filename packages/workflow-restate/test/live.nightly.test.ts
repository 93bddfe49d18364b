// @cluster: starts a server and kills workers
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Observed, ThreadRef } from "@uncaged/workflow/host";
import { codeOf, until } from "../../workflow/test/fixtures/until.ts";
import { ClusterClient } from "../src/client/client.ts";
import type { RestateHost } from "../src/entry/index.ts";
import type { ThreadMeta } from "../src/thread/thread.ts";
import { Link } from "./faults/link.ts";
import { TestCluster, type WorkerProcess } from "./fixtures/cluster.ts";
import { missingServer } from "./fixtures/server.ts";
import { speaking } from "./fixtures/speaking.ts";

let cluster: TestCluster;
let host: RestateHost;
/** Host of another process. */
let other: RestateHost;
/** Links between each worker and the cluster. */
const links: Link[] = [];

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.start();
  await worker();
  await cluster.register();
  host = cluster.open();
  other = cluster.open();
});
afterAll(async () => {
  if (missingServer !== "") return;
  for (const link of links) await link.close();
  await cluster.stop();
});

async function worker(advertise?: string): Promise<WorkerProcess> {
  const link = await Link.to(Number(new URL(cluster.cluster.address.ingress).port));
  links.push(link);
  const ingress = `http://127.0.0.1:${link.port}`;
  const started = await cluster.work({ register: false, ingress, advertise });
  cluster.use([started]);
  return started;
}

/** A thread that repeats the words passed to `say`, with an observer. */
class Speech {
  readonly seen: Observed[] = [];
  readonly #script = join(cluster.folder, `script-${Math.random()}`);
  readonly #stop = new AbortController();
  ref!: ThreadRef;
  over: Promise<void> = Promise.resolve();

  static async begin(count: number): Promise<Speech> {
    const speech = new Speech();
    speech.say("");
    const workflow = await cluster.put(host, speaking);
    const options = { count, script: speech.#script };
    speech.ref = await host.start({ workflow, cwd: "/", env: {}, options });
    speech.over = speech.#observe();
    return speech;
  }

  /** Sets the whole text, one line per step. */
  say(text: string): void {
    writeFileSync(this.#script, text);
  }

  async #observe(): Promise<void> {
    const { signal } = this.#stop;
    for await (const item of host.observe(this.ref, undefined, { signal })) this.seen.push(item);
  }

  get words(): string[] {
    return this.seen.flatMap(wordsIn);
  }

  heard(word: string): Promise<void> {
    const isHeard = () => this.words.some((one) => one.startsWith(`${word}@`));
    return until(isHeard, () => `not heard: ${word}: ${this.words.join()}`);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.over;
  }
}

/** Returns the words of an event, each with its process. Simultaneous words share an event. */
const wordsIn = (item: Observed): string[] =>
  item.kind === "event" && item.event.type === "llm_token"
    ? (String(item.event.payload.delta).match(/\w+@\d+/g) ?? [])
    : [];

/** Returns the records of a thread, read by another process. */
async function recorded(ref: ThreadRef, from?: string): Promise<Observed[]> {
  const items: Observed[] = [];
  for await (const item of other.observe(ref, from)) items.push(item);
  return items.filter(({ kind }) => kind !== "status");
}

const nameOf = (item: Observed): string => {
  if (item.kind === "event")
    return `event ${item.event.seq} ${item.event.type} ${wordsIn(item).join()}`;
  return item.kind === "step" ? `step ${item.number}` : item.kind;
};
const namesOf = (items: readonly Observed[]): string[] =>
  items.filter(({ kind }) => kind !== "status").map(nameOf);

const metaOf = async ({ threadId }: ThreadRef): Promise<ThreadMeta> => {
  const client = new ClusterClient(cluster.cluster.address);
  return (await client.value<ThreadMeta>("thread", threadId, "meta")) as ThreadMeta;
};

const lastOf = <T>(items: readonly T[]): T => items.at(-1) as T;

describe.skipIf(missingServer !== "")(`an observer of a thread${missingServer}`, () => {
  test("sees events before the cluster has them, and each item once", async () => {
    const speech = await Speech.begin(2);
    speech.say("one ");
    await speech.heard("one");
    lastOf(links).cut("silent");
    speech.say("one two ");
    await speech.heard("two");
    const inCluster = (await recordedWords(speech.ref)).map((word) => word.split("@")[0]);
    expect(inCluster).not.toContain("two");
    // The refusal reaches the debug log before the lines that the worker still buffers.
    const input = { content: "yes" };
    const refused = host.control(speech.ref, { kind: "answer", input, env: {} });
    expect(await codeOf(refused)).toBe("NOT_WAITING");
    speech.say("one two three ");
    await speech.heard("three");
    lastOf(links).restore();
    await until(async () => (await recordedWords(speech.ref)).length === 3);
    speech.say("one two three four .\nfive .");
    await speech.over;
    expect(namesOf(speech.seen)).toEqual(namesOf(await recorded(speech.ref)));
  });

  test("misses and repeats no recorded item when the worker is lost, and continues live with the next worker", async () => {
    const speech = await Speech.begin(3);
    speech.say("one .\ntwo ");
    await speech.heard("two");
    await until(async () => (await recordedWords(speech.ref)).length === 2);
    const { child } = lastOf(cluster.workers);
    lastOf(links).cut("silent");
    speech.say("one .\ntwo lost ");
    await speech.heard("lost");
    child.kill("SIGKILL");
    const { child: second } = await worker();
    await until(() => speech.words.includes(`lost@${second.pid}`));
    lastOf(links).cut("silent");
    speech.say("one .\ntwo lost live ");
    await speech.heard("live");
    lastOf(links).restore();
    speech.say("one .\ntwo lost live .\nthree .");
    await speech.over;

    const whole = await recorded(speech.ref);
    const isLost = (item: Observed) => wordsIn(item).includes(`lost@${child.pid}`);
    expect(speech.seen.filter(isLost)).toHaveLength(1);
    expect(whole.filter(isLost)).toHaveLength(0);
    const kept = speech.seen.filter((item) => !isLost(item));
    expect(namesOf(kept)).toEqual(namesOf(whole));
    // A new observer at any returned cursor sees the items recorded after it.
    let before = 0;
    for (const item of speech.seen.filter(({ kind }) => kind !== "status")) {
      if (!isLost(item)) before += 1;
      const rest = await recorded(speech.ref, item.cursor);
      expect(namesOf(rest)).toEqual(namesOf(whole).slice(before));
    }
  });

  test("sees the cluster's records when the worker is unreachable", async () => {
    await worker("127.0.0.1:1");
    lastOf(cluster.workers.slice(0, -1)).child.kill("SIGKILL");
    const speech = await Speech.begin(1);
    speech.say("one ");
    await speech.heard("one");
    speech.say("one two .");
    await speech.over;
    expect(namesOf(speech.seen)).toEqual(namesOf(await recorded(speech.ref)));
  });

  test("needs the key of the claim, and sees no secret", async () => {
    await worker();
    lastOf(cluster.workers.slice(0, -1)).child.kill("SIGKILL");
    const speech = await Speech.begin(1);
    speech.say("one ");
    await speech.heard("one");
    const { url, key } = (await metaOf(speech.ref)).drive?.live ?? { url: "", key: "" };
    const ask = (authorization?: string) =>
      fetch(`${url}?from=0`, { headers: authorization === undefined ? {} : { authorization } });
    for (const wrong of [undefined, "Bearer x", `Bearer ${key.replace(/./g, "0")}`]) {
      const { status, body } = await ask(wrong);
      await body?.cancel();
      expect(status).toBe(401);
    }
    const answer = await ask(`Bearer ${key}`);
    expect(answer.status).toBe(200);
    const text = answer.text();
    speech.say("one .");
    expect(await text).toContain("one@");
    expect(await text).not.toContain("of-workers-alone");
    expect((await ask(`Bearer ${key}`)).status).toBe(401);
    await speech.over;
  });
});

async function recordedWords(ref: ThreadRef): Promise<string[]> {
  const words: string[] = [];
  for await (const item of other.observe(ref, undefined, { until: "now" })) {
    words.push(...wordsIn(item));
  }
  return words;
}
