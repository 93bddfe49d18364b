import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { removeStores } from "../../../workflow/test/fixtures/store.ts";
import { readCommand } from "../../src/router/commands.ts";
import { shortIds } from "../../src/router/views.ts";
import { cron, does, hello, workflow } from "../home.ts";
import { plan } from "../parts.ts";
import { bot, closeBots, create } from "./chat.ts";

setDefaultTimeout(60_000);
afterEach(async () => {
  await closeBots();
  await removeStores();
});

/** Returns a bot with two plans whose ids differ in their last letter. */
async function withPlans(options: Parameters<typeof bot>[0] = {}) {
  const opened = await bot(options);
  const { plans } = opened;
  await plans.create(workflow(hello({ name: "By hand" }), { id: "wf_abcdefghi1" }));
  await plans.create(workflow(hello({ name: "At nine", trigger: cron }), { id: "wf_abcdefghi2" }));
  return opened;
}

test("a command begins with a slash or an exclamation mark, and may name a bot", () => {
  expect(readCommand("/show wf_1")).toEqual({ name: "show", args: "wf_1" });
  expect(readCommand("!LIST")).toEqual({ name: "list", args: "" });
  expect(readCommand("/list@plans_bot")).toEqual({ name: "list", args: "", to: "@plans_bot" });
  expect(readCommand("/new two\nlines")).toEqual({ name: "new", args: "two\nlines" });
  for (const text of ["list", "/ list", "//", "/", "1/2", "!!!"])
    expect(readCommand(text)).toBeNull();
});

test("ids are shortened as far as they stay distinct", () => {
  const short = shortIds(["wf_abcdefghi1", "wf_abcdefghi2", "wf_zzzzzzzzzz"]);
  expect([...short.values()]).toEqual(["wf_abcdefghi1", "wf_abcdefghi2", "wf_zzzzzz"]);
});

test("plans are listed, shown and confirmed, by any unique prefix of an id", async () => {
  const { server, write } = await withPlans();
  const [list] = await write("/list");
  expect(list?.split("\n").toSorted()).toEqual([
    "wf_abcdefghi1  awaiting_confirmation  By hand",
    "wf_abcdefghi2  awaiting_confirmation  At nine",
  ]);
  const [shown, asked] = await write("/show abcdefghi2");
  expect(shown).toContain("At nine (wf_abcdefghi2): awaiting_confirmation");
  expect(shown).toContain("Trigger: cron 0 9 * * 1-5 (UTC)");
  expect(shown).toContain("1. hello: say hello");
  expect(asked).toBe("At nine\nDo it.");
  expect(server.sent.at(-1)?.buttons).toHaveLength(3);
  expect(await write("yes")).toEqual(["Confirmed: At nine is active."]);
  expect((await write("/confirm wf_abc")).join()).toContain("more than one id");
  expect((await write("/confirm wf_abcdefghi2")).join()).toMatch(/active/);
  expect((await write("/confirm nothing")).join()).toContain('no plan "nothing" found');
  expect((await write("/confirm")).join()).toContain("missing id of a plan");
});

test("plans are run, paused, resumed, cancelled and removed", async () => {
  const { home, write } = await withPlans();
  const id = "wf_abcdefghi2";
  await write(`/confirm ${id}`);
  expect(await write(`/pause ${id}`)).toEqual(["At nine is paused."]);
  expect((await write(`/run ${id}`)).join()).toContain("paused");
  expect(await write(`/resume ${id}`)).toEqual(["At nine is active."]);
  expect((await write(`/run ${id} some data`)).join()).toMatch(/^At nine runs now \(run_\w+\)\.$/);
  const { phase, runs } = await home.ended(id);
  expect([phase, runs[0]?.trigger_data]).toEqual(["active", "some data"]);
  const [status] = await write(`/status ${id}`);
  expect(status).toContain("At nine: active");
  expect(status).toContain("hello: succeeded");
  expect(await write("/status")).toEqual(["2 plans, 1 active"]);
  expect((await write(`/cancel ${id}`)).join()).toContain("has no run to cancel");
  expect(await write(`/delete ${id}`)).toEqual(["At nine was removed."]);
  expect((await write(`/show ${id}`)).join()).toContain(`no plan "${id}" found`);
});

test("a run is cancelled, and a failed run is retried", async () => {
  const { home, plans, write } = await bot();
  const steps = [does("slow", "wait"), does("end", "say end", ["slow"])];
  await plans.create(workflow(plan(steps), { id: "wf_slow" }));
  await plans.create(
    workflow(plan([does("bad", "fail-once")], {}, { name: "Bad" }), { id: "wf_bad" }),
  );
  await write("/confirm wf_slow");
  expect((await write("/delete wf_slow")).join()).toContain("executing");
  expect(await write("/cancel wf_slow")).toEqual(["The run of A plan was cancelled."]);
  await write("/confirm wf_bad");
  expect((await home.ended("wf_bad")).phase).toBe("failed");
  expect((await write("/retry wf_bad")).join()).toMatch(/^Bad runs again \(run_\w+\)\.$/);
  await home.ended("wf_bad");
});

test("a plan is changed by its id, and stays unchanged without a confirmation", async () => {
  const changed = hello({ name: "At ten", trigger: { ...cron, expression: "0 10 * * *" } });
  const { plans, write } = await withPlans({ script: [create(changed)] });
  const id = "wf_abcdefghi2";
  await write(`/confirm ${id}`);
  expect(await write(`/modify ${id} at ten`)).toEqual(["The plan is ready.", "At ten\nDo it."]);
  expect(plans.get(id)).toMatchObject({ name: "At nine", phase: "active" });
  expect(await write("y")).toEqual(["Confirmed: At ten is active."]);
  expect(plans.get(id)).toMatchObject({ name: "At ten", phase: "active" });
  expect((await write(`/modify ${id}`)).join()).toContain("missing change");
});

test("an unconfirmed plan can be changed or removed", async () => {
  const { plans, write } = await withPlans();
  expect((await write("/cancel wf_abcdefghi1")).join()).toContain("By hand is not confirmed");
  expect(plans.get("wf_abcdefghi1").phase).toBe("planning");
  await write("/show wf_abcdefghi2");
  expect((await write("no")).join()).toContain("At nine is not confirmed");
  expect(plans.get("wf_abcdefghi2").phase).toBe("planning");
});

test("help names every command, and unknown commands are refused", async () => {
  const { write } = await bot();
  const [help] = await write("/help");
  const names = [
    ...["new", "list", "show", "status", "confirm", "run", "retry"],
    ...["pause", "resume", "cancel", "delete", "answer", "help"],
  ];
  for (const name of names) expect(help).toContain(`/${name}`);
  expect(await write("!nothing")).toEqual(["unknown command /nothing; /help lists them"]);
  expect((await write("/new")).join()).toContain("missing request");
  expect((await write("/answer run_x maybe")).join()).toMatch(/is not a decision/);
});
