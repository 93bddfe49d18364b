import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeStores } from "../../../workflow/test/fixtures/store.ts";
import { buttonText } from "../../src/channel/channel.ts";
import { botApi } from "../channel/bot-api.ts";
import { until } from "../channel/contract.ts";
import { cron, does, hello, TestHome } from "../home.ts";
import { plan } from "../parts.ts";
import { ask, bot, type BotOptions, closeBots, create } from "./chat.ts";

setDefaultTimeout(60_000);
afterEach(async () => {
  await closeBots();
  await removeStores();
});

const watched = (name: string) => hello({ name, trigger: cron });

test("a conversation has a question, an answer, a plan, and the plan's confirmation by a button", async () => {
  const { buttons, model, plans, press, server, write } = await bot({
    script: [ask("Which one?"), create(hello({ name: "Greeting" }))],
  });
  expect(await write("greet somebody")).toEqual(["The planner has answered.", "Which one?"]);
  expect(server.sent[0]?.edits).toEqual(["Planning…"]);
  expect(await write("the first")).toEqual(["The plan is ready.", "Greeting\nDo it."]);
  expect(server.typing).toEqual(["42", "42"]);
  expect(JSON.stringify(model.came[0]?.body.system)).toContain("chat 42, as 7");
  const [workflow] = await plans.list();
  expect(workflow).toMatchObject({
    phase: "awaiting_confirmation",
    metadata: { owner: { channel: "telegram", chatJid: "42", sender: "7" } },
  });
  const [answer] = await press(buttons()[0]?.callback_data ?? "");
  expect(answer).toMatch(/^Confirmed: Greeting runs now \(run_\w+\)\.$/);
  expect(await press(buttons()[0]?.callback_data ?? "")).toEqual([
    expect.stringContaining(String(workflow?.id)),
  ]);
});

test("another text changes the plan, and an outdated button confirms nothing", async () => {
  const { buttons, plans, press, write } = await bot({
    script: [create(watched("One")), create(watched("Two")), create(watched("Three"))],
  });
  await write("watch it");
  const [first] = buttons();
  await write("call it two");
  expect(await press(first?.callback_data ?? "")).toEqual([
    expect.stringContaining("This plan has changed."),
  ]);
  const [workflow] = await plans.list();
  expect(workflow).toMatchObject({ name: "Two", phase: "awaiting_confirmation" });
  expect(await write("m")).toEqual(["What should change?"]);
  expect(await write("call it three")).toEqual(["The plan is ready.", "Three\nDo it."]);
  expect(await write(" YES ")).toEqual(["Confirmed: Three is active."]);
  expect((await plans.list()).map(({ name, phase }) => [name, phase])).toEqual([
    ["Three", "active"],
  ]);
});

test("every accepted answer has its effect", async () => {
  for (const [words, phase] of [
    [["yes", "y", "Confirm", "1"], "active"],
    [["no", "N", "cancel", "3"], "planning"],
  ] as const) {
    for (const word of words) {
      const { close, plans, write } = await bot({ script: [create(watched("Plan"))] });
      await write("go");
      await write(word);
      expect([word, (await plans.list())[0]?.phase]).toEqual([word, phase]);
      await close();
    }
  }
});

test("a plain yes counts for ten minutes; later only the plan's id confirms the plan, even after a restart", async () => {
  let now = Date.UTC(2026, 0, 1);
  const home = new TestHome();
  const script = [create(watched("Plan"))];
  const first = await bot({ home, script, now: () => now });
  await first.write("go");
  now += 10 * 60_000 + 1;
  const [late] = await first.write("yes");
  expect(late).toContain("more than ten minutes old");
  const [{ id, phase } = { id: "", phase: "" }] = await home.plans.list();
  expect(phase).toBe("awaiting_confirmation");
  await first.close();
  const second = await bot({ home, server: first.server, now: () => now });
  expect(await second.write(`/confirm ${id.slice(0, 9)}`)).toEqual(["Confirmed: Plan is active."]);
});

test("a question is answered after a restart", async () => {
  const home = new TestHome();
  const first = await bot({ home, script: [ask("Where?")] });
  await first.write("go");
  await first.close();
  const script = [create(watched("There"))];
  const second = await bot({ home, server: first.server, script });
  expect(await second.write("there")).toEqual(["The plan is ready.", "There\nDo it."]);
  expect(second.model.came[0]?.body.messages).toHaveLength(3);
});

test("senders outside the list get no answer, by message or by button, and an empty list allows no sender", async () => {
  const { buttons, lines, press, server, write } = await bot({ script: [create(watched("Plan"))] });
  await write("go");
  const shown = server.sent.length;
  const data = buttons()[0]?.callback_data ?? "";
  expect(await press(data, { from: 8 })).toEqual([]);
  expect(await write("/list", { from: 8 })).toEqual([]);
  expect(await write("/list", { chat: 7, from: 77 })).toEqual([]);
  expect(server.sent).toHaveLength(shown);
  expect(lines.filter((line) => line.includes("may not write"))).toHaveLength(3);
  const closed = await bot({ allowed: [] });
  expect(await closed.write("/list")).toEqual([]);
});

test("a chat may write ten messages in a minute, and refused messages count", async () => {
  let now = Date.UTC(2026, 0, 1);
  const { server, write, texts } = await bot({ now: () => now });
  for (let n = 0; n < 10; n += 1) expect(await write("/list")).toHaveLength(1);
  expect(await write("/list")).toEqual(["That is too much at once. Wait for a minute."]);
  now += 59_000;
  for (let n = 0; n < 10; n += 1) expect(await write("/list")).toEqual([]);
  expect(await write("/list", { chat: 43 })).toHaveLength(1);
  now += 2_000;
  expect(await write("/list")).toEqual(["That is too much at once. Wait for a minute."]);
  now += 61_000;
  expect(await write("/list")).toEqual(["No plans found. /new TEXT makes a plan."]);
  expect([texts().length, server.sent.length]).toEqual([13, 14]);
});

test("presses with another plan's or invented data change nothing", async () => {
  const { plans, press, write } = await bot({
    script: [create(watched("One")), create(watched("Two"))],
  });
  await write("/new one");
  await write("/new two");
  const ids = (await plans.list()).map(({ id }) => id);
  const made = [
    buttonText({ action: "confirm", workflowId: ids[0] ?? "", planHash: "0".repeat(8) }),
    buttonText({ action: "cancel", workflowId: ids[1] ?? "", planHash: "f".repeat(8) }),
    buttonText({ action: "confirm", workflowId: "wf_nowhere", planHash: "f".repeat(8) }),
    buttonText({ action: "confirm", workflowId: "wf_", planHash: "f".repeat(8) }),
    `confirm:${ids[0]}`,
    "/confirm",
  ];
  for (const data of made) expect((await press(data)).join()).not.toContain("Confirmed");
  for (const { phase } of await plans.list()) expect(phase).toBe("awaiting_confirmation");
});

test("a message whose process is killed with SIGKILL is handled by the next process, once", async () => {
  const home = new TestHome();
  const { store } = home;
  const server = botApi();
  const gate = join(store.folder, "acknowledged");
  const { token, url } = server;
  const task = JSON.stringify({ root: store.root, home: home.home, token, url, gate });
  const program = new URL("../programs/takes.ts", import.meta.url).pathname;
  const child = Bun.spawn([process.execPath, program, task], { stderr: "inherit" });
  const update = server.write(42, "watch it", 7);
  const isTaken = () => (server.offsets.at(-1) ?? 0) > Number(update.update_id);
  await until(isTaken, "the acknowledgement");
  writeFileSync(gate, "");
  await child.exited;
  expect(child.signalCode).toBe("SIGKILL");
  expect(server.sent).toEqual([]);
  for (const script of [[create(watched("Plan"))], []]) {
    const { close, idle, texts, write } = await botOn(home, server, script);
    await until(() => texts().length >= 2, "the plan");
    server.push(update);
    await write("/help");
    await idle();
    await close();
  }
  expect(await home.plans.list()).toHaveLength(1);
  expect(server.sent.filter(({ text }) => text === "The plan is ready.")).toHaveLength(1);
  await server.stop();
});

async function botOn(home: TestHome, server: BotOptions["server"], script: BotOptions["script"]) {
  const opened = await bot({ home, script, ...(server && { server }) });
  return { ...opened, idle: () => opened.router.idle() };
}

test("a failure is reported to its chat, and the next message is handled", async () => {
  const fault = { kind: "status", status: 400, type: "", message: "no such model" } as const;
  const { lines, server, write } = await bot({ script: [{ fault }, create(watched("Plan"))] });
  expect((await write("go")).join()).toContain("no such model");
  expect(await write("go on")).toEqual(["The plan is ready.", "Plan\nDo it."]);
  const refused = { method: "sendMessage", error_code: 403, description: "Forbidden: blocked" };
  server.refuse(refused);
  expect(await write("/list")).toEqual([]);
  expect(lines.join()).toContain("blocked");
  expect(await write("/list")).toHaveLength(1);
});

test("a plan whose confirmation was not sent is shown by its id before that id confirms it", async () => {
  const { lines, plans, server, write } = await bot({ script: [create(watched("Plan"))] });
  const refused = { method: "sendMessage", error_code: 500, description: "Internal" };
  server.refuse({ ...refused, behind: 1 });
  await write("go");
  expect(lines.join()).toContain("Internal");
  const [{ id } = { id: "" }] = await plans.list();
  expect(await write("yes")).toEqual([expect.stringContaining("Nothing waits for that answer.")]);
  expect(await write(`/confirm ${id}`)).toEqual(["Plan\nDo it."]);
  expect(await write(`/confirm ${id}`)).toEqual(["Confirmed: Plan is active."]);
});

test("cancel stops the planner's current answer", async () => {
  const { model, plans, router, server, write } = await bot({
    script: [{ text: "slow ".repeat(400), tokenMs: 20 }],
  });
  server.write(42, "go", 7);
  await until(() => model.came.length > 0, "the model is asked");
  expect(await write("/cancel")).toEqual(["The planning has ended."]);
  await router.idle();
  expect(server.sent[0]?.text).toBe("The planning was cancelled.");
  expect(await plans.list()).toEqual([]);
  expect(await write("/cancel")).toEqual(["There is no planning to end."]);
});

test("a text that is neither command nor answer is a request, unless a model classifies it as chat", async () => {
  const reply = { tools: [{ name: "chat_reply", input: { text: "Hello to you." } }] };
  const request = { tools: [{ name: "create_workflow_request", input: {} }] };
  const fault = { kind: "status", status: 400, type: "", message: "no" } as const;
  const script = [reply, request, create(watched("A")), { fault }, create(watched("B"))];
  const { lines, plans, write } = await bot({ isClassified: true, script });
  expect(await write("hello")).toEqual(["Hello to you."]);
  expect(await write("watch it")).toEqual(["The plan is ready.", "A\nDo it."]);
  await write("yes");
  expect(await write("and that")).toEqual(["The plan is ready.", "B\nDo it."]);
  expect(lines.join()).toContain("intent");
  expect(await plans.list()).toHaveLength(2);
});

test("a user's secret is only in the file of secrets, and in no message", async () => {
  const value = "tok-5f2b9c71-very-secret";
  const secret = { name: "set_secret", input: { key: "FORGE_TOKEN", value } };
  const steps = plan([does("a", `say ${value}`)], {}, { name: `With ${value}` });
  const { ended, home, notices, server, write } = await secretBot([
    { tools: [secret, { name: "ask_question", input: { question: `Is it ${value}?` } }] },
    create(steps),
  ]);
  await write(`use ${value}`);
  await write("yes it is");
  await write("yes");
  await ended();
  await notices.send();
  await write(`/list ${value}`);
  await write(`/${value}`);
  expect(JSON.stringify(server.sent)).not.toContain(value);
  expect(JSON.stringify(server.sent)).toContain("[secret:FORGE_TOKEN]");
  expect(filesWith(home.store.root, value)).toEqual(["plans/secrets.json"]);
});

async function secretBot(script: BotOptions["script"]) {
  const opened = await bot({ script });
  const ended = async () => {
    const [workflow] = await opened.plans.list();
    return await opened.home.ended(workflow?.id ?? "");
  };
  return { ...opened, ended };
}

/** Returns the files below a folder that contain a text. */
function filesWith(folder: string, text: string): string[] {
  const { stdout } = Bun.spawnSync(["grep", "-rlaF", "--", text, "."], { cwd: folder });
  return stdout
    .toString()
    .split("\n")
    .filter(Boolean)
    .map((path) => path.slice(2));
}
