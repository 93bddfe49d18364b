import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { removeStores } from "../../../workflow/test/fixtures/store.ts";
import { until } from "../../../workflow/test/fixtures/until.ts";
import { does, TestHome, workflow } from "../home.ts";
import { plan } from "../parts.ts";
import { Notices } from "../../src/router/notices.ts";
import { bot, closeBots } from "./chat.ts";

setDefaultTimeout(60_000);
afterEach(async () => {
  await closeBots();
  await removeStores();
});

const owner = { channel: "telegram", chatJid: "42", sender: "7" };
const asking = plan([does("bad", "fail-once"), does("end", "say end", ["bad"])], {
  on_step_failure: "ask_user",
});

/** Waits until a plan waits for a decision. */
const waiting = (home: TestHome) =>
  until(
    async () => (await home.plans.wanted()).length > 0,
    () => "no plan waits for a decision",
  );

test("the end of a run is reported to the owner's chat, with its outputs, and only once", async () => {
  const { home, notices, plans, server, texts } = await bot();
  const steps = [does("first", "say first"), does("last", "say last", ["first"])];
  await plans.create(workflow(plan(steps), { id: "wf_good", metadata: { owner } }));
  await plans.create(
    workflow(plan(steps), { id: "wf_other", metadata: { owner: { channel: "tui" } } }),
  );
  await Promise.all([plans.confirm("wf_good"), plans.confirm("wf_other")]);
  await home.ended("wf_good");
  await home.ended("wf_other");
  await notices.send();
  await notices.send();
  expect(texts()).toEqual(["A plan has completed.\nlast:\nsaid last"]);
  expect(server.sent).toHaveLength(1);
});

test("a failed step is reported with its error and the possible decisions", async () => {
  const { home, notices, plans, texts } = await bot();
  const steps = [does("bad", "fail-once")];
  await plans.create(workflow(plan(steps), { id: "wf_bad", metadata: { owner } }));
  await plans.confirm("wf_bad");
  await home.ended("wf_bad");
  await notices.send();
  const [text] = texts();
  expect(text).toContain("A plan has failed: step bad failed");
  expect(text).toContain("it broke");
  expect(text).toContain("/retry wf_bad");
});

test("the owner is asked for a decision, and answers with one word", async () => {
  for (const [word, phase] of [
    ["skip", "failed"],
    ["Abort", "failed"],
  ] as const) {
    const { home, close, notices, plans, texts, write } = await bot();
    await plans.create(workflow(asking, { id: "wf_ask", metadata: { owner } }));
    await plans.confirm("wf_ask");
    await waiting(home);
    await notices.send();
    expect(texts().join()).toContain("Answer retry, skip or abort");
    expect((await write("/answer wf_ask maybe")).join()).toMatch(/maybe|retry/);
    expect((await write("/answer wf_nothing skip")).join()).toContain("wf_nothing");
    expect(await write(word)).toEqual([`bad: ${word.toLowerCase()}`]);
    expect((await home.ended("wf_ask")).phase).toBe(phase);
    await notices.send();
    expect(texts().at(-1)).toContain("has failed");
    expect((await write("/answer wf_ask skip")).join()).not.toContain("bad: skip");
    await close();
  }
});

test("two decisions are distinguished by their runs", async () => {
  const { home, plans, write } = await bot();
  for (const id of ["wf_one", "wf_two"]) {
    await plans.create(workflow(asking, { id, metadata: { owner } }));
    await plans.confirm(id);
  }
  await until(
    async () => (await home.plans.wanted()).length === 2,
    () => "two decisions",
  );
  const [which = ""] = await write("skip");
  const names = [...which.matchAll(/^\/answer (\w{8}) retry, skip or abort$/gm)];
  expect(names).toHaveLength(2);
  expect(await write("skip")).toEqual([expect.stringContaining("More than one step waits")]);
  expect(await write(`/answer ${names[0]?.[1]} skip`)).toEqual(["bad: skip"]);
  expect(await write("skip")).toEqual(["bad: skip"]);
});

test("a channel that was down gets its notices when it is back, unless they are older than a day", async () => {
  const home = new TestHome();
  const { plans } = home;
  for (const id of ["wf_one", "wf_two"]) {
    await plans.create(workflow(plan([does("a", "say it")]), { id, metadata: { owner } }));
  }
  await plans.confirm("wf_one");
  await home.ended("wf_one");
  const first = await bot({ home });
  first.server.refuse({ method: "sendMessage", error_code: 500, description: "Internal" });
  await first.notices.send();
  expect(first.server.sent).toEqual([]);
  await first.notices.send();
  expect(first.texts()).toEqual(["A plan has completed.\na:\nsaid it"]);
  await first.close();
  await plans.confirm("wf_two");
  await home.ended("wf_two");
  const late = await bot({ home, now: () => Date.now() + 25 * 60 * 60_000 });
  await late.notices.send();
  expect(late.server.sent).toEqual([]);
  const second = await bot({ home });
  await second.notices.send();
  expect(second.texts()).toHaveLength(1);
});

test("other notices are kept until they are sent", async () => {
  const home = new TestHome();
  await home.plans.create(
    workflow(plan([does("a", "say it")]), { id: "wf_one", metadata: { owner } }),
  );
  const first = await bot({ home });
  await first.close();
  await home.plans.notify("wf_one", "The check has failed 3 times.");
  await first.notices.send();
  expect(first.server.sent).toEqual([]);
  const second = await bot({ home });
  await second.notices.send();
  await second.notices.send();
  expect(second.texts()).toEqual(["A plan: The check has failed 3 times."]);
});

test("two processes that send the same notices lose none of them", async () => {
  const { plans, host } = new TestHome();
  await plans.create(workflow(plan([does("a", "say it")]), { id: "wf_one", metadata: { owner } }));
  const log = () => undefined;
  const broken = () => Promise.reject(new Error("the connection is gone"));
  const sender = (send: (text: string) => Promise<unknown>) => {
    const channel = {
      ...{ name: "telegram", isConnected: () => true, ownsJid: () => true },
      ...{ connect: async () => undefined, disconnect: async () => undefined },
      sendConfirmation: () => broken(),
      sendQuestion: () => broken(),
      sendMessage: async (_jid: string, text: string) => String(await send(text)),
    };
    return new Notices({ plans, host, log, channels: () => [channel] });
  };
  const sent: string[] = [];
  const other = sender((text) => (text.endsWith("two") ? broken() : Promise.resolve(text)));
  const one = sender(async (text) => {
    if (text.endsWith("one")) await other.send();
    else if (sent.length === 1) sent.push("broken");
    if (sent.at(-1) === "broken") return sent.splice(1) && broken();
    sent.push(text);
  });
  await plans.notify("wf_one", "one");
  await plans.notify("wf_one", "two");
  await one.send();
  expect(sent).toEqual(["**A plan**: one"]);
  sent.push("tried again");
  await one.send();
  expect(sent.at(-1)).toBe("**A plan**: two");
});
