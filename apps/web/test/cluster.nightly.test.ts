import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Observed, Step } from "@uncaged/workflow/host";
import type { Page } from "playwright-core";
import { until } from "../../../packages/workflow/test/fixtures/until.ts";
import type { RestateHost } from "../../../packages/workflow-restate/src/entry/index.ts";
import { TestCluster } from "../../../packages/workflow-restate/test/fixtures/cluster.ts";
import { missingServer } from "../../../packages/workflow-restate/test/fixtures/server.ts";
import { speaking } from "../../../packages/workflow-restate/test/fixtures/speaking.ts";
import { keepPicture, open, useConsoleProcess } from "./browser.ts";
import { stepRow } from "./trace.ts";

let cluster: TestCluster;
let host: RestateHost;

beforeAll(async () => {
  if (missingServer !== "") return;
  cluster = await TestCluster.balanced(2);
  host = cluster.open();
  serving.more.UNCAGED_WORKFLOW_HOST = cluster.cluster.url;
  serving.more.UNCAGED_WORKFLOW_HOST_TOKEN = cluster.cluster.address.token ?? "";
}, 600_000);

const serving = useConsoleProcess();

afterAll(async () => {
  if (missingServer === "") await cluster.stop();
}, 600_000);

const lines = async (stream: ReadableStream<Uint8Array>): Promise<string[]> =>
  (await new Response(stream).text()).split("\n").filter(Boolean);

/** The steps in a stream of server-sent events. */
const stepsIn = (sse: string[]): Step[] =>
  sse.flatMap((line, at) => {
    if (!line.startsWith("data:") || sse[at - 1] !== "event: step") return [];
    const { number: _, ...step } = JSON.parse(line.slice(5)) as Step & { number: number };
    return [step];
  });

/** The words of committed steps in the rows of the trace. Events of a killed worker's attempt may be lost. */
async function wordsOf(page: Page): Promise<string[]> {
  let isKept = false;
  return (await page.getByRole("row").allInnerTexts()).flatMap((text) => {
    if (text.includes("speak")) isKept = text.startsWith("done");
    return isKept ? (text.match(/\w+@\d+/g) ?? []) : [];
  });
}

describe.skipIf(missingServer !== "")(`the console of a cluster${missingServer}`, () => {
  test("continues while a thread's worker is killed, and shows the same as other clients", async () => {
    await serving.add("speak", speaking);
    const script = join(serving.folder, "script");
    const say = (text: string) => writeFileSync(script, text);
    say("one ");
    const id = await serving.run("speak", { count: 3, script });
    const followed = lines(serving.spawn("follow", id, "--json").stdout);
    const streamed = serving.fetch(`/api/threads/${id}/events`).then(({ body }) => {
      if (!body) throw new Error("no stream");
      return lines(body);
    });
    const page = await open(serving, `/threads/${id}`);
    await page
      .getByText(/one@\d+/)
      .first()
      .waitFor();
    say("one .\ntwo half ");
    await stepRow(page, 1, "speak").waitFor();
    await page
      .getByText(/half@\d+/)
      .first()
      .waitFor();
    await keepPicture(page, "cluster-live");

    const [driven] = await host.live();
    const worker = cluster.workers.find(({ child }) => child.pid === driven?.pid);
    worker?.child.kill("SIGKILL");
    const other = cluster.workers.find(({ child }) => child !== worker?.child)?.child.pid;
    await page
      .getByText(new RegExp(`half@${other}`))
      .first()
      .waitFor();
    await keepPicture(page, "cluster-failover");
    say("one .\ntwo half .\nthree .");
    await page.getByText("completed", { exact: true }).first().waitFor();
    await stepRow(page, 3, "speak").waitFor();
    await keepPicture(page, "cluster-completed");

    const shown = await wordsOf(page);
    await page.reload();
    await stepRow(page, 3, "speak").waitFor();
    expect(await wordsOf(page)).toEqual(shown);

    const shownBy = new Response(serving.spawn("thread", id, "--json").stdout);
    const { steps } = (await shownBy.json()) as { steps: Step[] };
    expect(steps.map(({ content }) => content)).toEqual(["said 0", "said 1", "said 2"]);
    const items = (await followed).map((line) => JSON.parse(line) as Observed);
    const follow = items.flatMap((item) => (item.kind === "step" ? [item.step] : []));
    expect(follow).toEqual(steps);
    expect(stepsIn(await streamed)).toEqual(steps);
    // The first client may also have seen events that were lost before they were recorded.
    const seqs = items.flatMap((item) => (item.kind === "event" ? [item.event.seq] : []));
    const again = await lines(serving.spawn("follow", id, "--json").stdout);
    const kept = again
      .map((line) => JSON.parse(line) as Observed)
      .flatMap((item) => (item.kind === "event" ? [item.event.seq] : []));
    expect(seqs.filter((seq) => kept.includes(seq))).toEqual(kept);
    expect(new Set(seqs).size).toBe(seqs.length);
    await until(async () => (await host.live()).length === 0);
  }, 600_000);
});
