import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { fileURLToPath } from "node:url";
import { removeStores } from "../../../workflow/test/fixtures/store.ts";
import { botApi } from "../channel/bot-api.ts";
import { does, TestHome, workflow } from "../home.ts";
import { plan } from "../parts.ts";
import { ownProgram } from "../surroundings.ts";
import { bot, closeBots } from "./chat.ts";

/* Notices from their source to the owner's chat. */
setDefaultTimeout(60_000);
const services: (() => Promise<void>)[] = [];
afterEach(async () => {
  await Promise.all(services.splice(0).map((end) => end()));
  await closeBots();
  await removeStores();
});

const metadata = { owner: { channel: "telegram", chatJid: "42", sender: "7" } };
const fileAt = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const withTools = fileAt("../../../cli-workflow/test/agents/with-tools.mjs");
const program = fileAt("../programs/notifies.ts");

test("a step's notice reaches the owner's chat through its tool", async () => {
  const home = new TestHome();
  const { notices, plans, texts } = await bot({ home });
  const agents = home.open({ runOptions: { agentCommand: withTools, planProgram: ownProgram } });
  await plans.create(workflow(plan([does("look", "look")]), { id: "wf_tools", metadata }));
  await agents.confirm("wf_tools");
  expect((await home.ended("wf_tools")).phase).toBe("completed");
  await notices.send();
  const [notice, end, ...others] = texts();
  expect(notice).toBe("A plan, look: half of it");
  expect(end).toStartWith("A plan has completed.");
  expect(others).toEqual([]);
});

test("a notice whose process is killed with SIGKILL is sent again, and none is lost", async () => {
  const home = new TestHome();
  const server = botApi();
  const { plans, store } = home;
  const steps = [does("a", "say it")];
  await plans.create(workflow(plan(steps), { id: "wf_one", metadata }));
  await plans.create(workflow(plan(steps, {}, { name: "Other" }), { id: "wf_two", metadata }));
  const first = await bot({ home, server });
  await first.close();
  await plans.notify("wf_one", "The first.");
  await plans.notify("wf_one", "The second.");
  for (const id of ["wf_one", "wf_two"]) {
    await plans.confirm(id);
    await home.ended(id);
  }
  const { token, url } = server;
  const pass = async (dieAfter: number) => {
    const task = { root: store.root, home: home.home, token, url, dieAfter };
    const argv = [process.execPath, program, JSON.stringify(task)];
    const child = Bun.spawn(argv, { stderr: "pipe" });
    const [errors, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    return [errors, child.signalCode ?? code];
  };
  for (const [dieAfter, sent] of [
    [1, 1],
    [2, 3],
    [2, 5],
    [2, 7],
  ] as const) {
    expect(await pass(dieAfter)).toEqual(["", "SIGKILL"]);
    expect(server.sent).toHaveLength(sent);
  }
  expect(await pass(0)).toEqual(["", 0]);
  expect(await pass(0)).toEqual(["", 0]);
  const each = [
    ...["A plan: The first.", "A plan: The second."],
    ...["A plan has completed.\na:\nsaid it", "Other has completed.\na:\nsaid it"],
  ];
  expect(server.sent.map(({ text }) => text)).toEqual(each.flatMap((text) => [text, text]));
  await server.stop();
});
