import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { anthropicProvider } from "@uncaged/workflow-agents";
import { anthropicServer } from "../../workflow-agents/test/anthropic-server.ts";
import type { Reply } from "../../workflow-agents/test/wire.ts";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { Planner } from "../src/entry/index.ts";
import { Planning } from "../src/entry/service.ts";
import { errorOf } from "./channel/contract.ts";
import { cron, hello, TestHome } from "./home.ts";
import { gate } from "./parts.ts";
import { ask, create } from "./router/chat.ts";

/* Conversations on one plan home. Each opens the plans separately, like a separate process. */
setDefaultTimeout(60_000);
afterEach(removeStores);

async function home(...replies: Reply[]) {
  const store = new TestHome();
  const model = await anthropicServer(replies);
  const env = { ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url };
  /** Opens the planning of a separate process. `before` delays the model's answer. */
  function planning(before: Promise<void> = Promise.resolve()) {
    const plans = store.open();
    const { answer, ...real } = anthropicProvider();
    const planner = new Planner({
      ...{ env, folder: plans.folder, secrets: plans.secrets },
      provider: { ...real, answer: (...given) => before.then(() => answer(...given)) },
    });
    return { planner, planning: new Planning(plans, planner) };
  }
  const asked = (nth: number) => JSON.stringify(model.came[nth]?.body.messages);
  return { plans: store.plans, planning, asked, stop: () => model.stop() };
}

test("of two concurrent turns in a session, the second is refused and the first completes", async () => {
  const { asked, planning, plans, stop } = await home(
    ...[ask("Where?"), ask("When?"), create(hello())],
  );
  const { session } = await planning().planning.start("go");
  const { open, opened } = gate();
  const going = planning(opened).planning.answer(session, "there");
  const refused = planning().planning.answer(session, "elsewhere");
  expect(await errorOf(refused)).toBe(`the planner is already working on ${session}`);
  open();
  expect((await going).turn).toMatchObject({ type: "question", content: "When?" });
  const { workflow } = await planning().planning.answer(session, "now");
  expect(workflow?.phase).toBe("awaiting_confirmation");
  expect(asked(2)).toContain("there");
  expect(asked(2)).toContain("now");
  expect(asked(2)).not.toContain("elsewhere");
  expect(readdirSync(plans.folder).filter((name) => name.includes("lock"))).toEqual([]);
  await stop();
});

test("one of two concurrent changes of a plan is refused, even in separate sessions", async () => {
  const named = (name: string) => create(hello({ name, trigger: cron }));
  const { planning, plans, stop } = await home(named("One"), named("Two"), named("Three"));
  const { session, workflow } = await planning().planning.start("go");
  const id = workflow?.id ?? "";
  rmSync(join(plans.folder, `${session}.json`));
  const { open, opened } = gate();
  const going = planning(opened).planning.modify(id, "call it two");
  const refused = planning().planning.modify(id, "call it three");
  expect(await errorOf(refused)).toBe(`the planner is already working on ${id}`);
  open();
  await going;
  expect(plans.get(id).name).toBe("Two");
  await planning().planning.modify(id, "call it three");
  expect(plans.get(id).name).toBe("Three");
  await stop();
});

test("a chat continues a session where another process left it", async () => {
  const { asked, planning, stop } = await home(ask("Where?"), ask("When?"), create(hello()));
  const chat = planning();
  const { session } = await chat.planning.start("go");
  const known = chat.planner.find(session);
  await planning().planning.answer(session, "there");
  await chat.planning.turn(known, "now");
  for (const text of ["Where?", "there", "When?", "now"]) expect(asked(2)).toContain(text);
  await stop();
});

test("a plan that arrives after another process cancelled the session is dropped", async () => {
  const { planning, plans, stop } = await home(ask("Where?"), create(hello()));
  const { session } = await planning().planning.start("go");
  const { open, opened } = gate();
  const going = planning(opened).planning.answer(session, "there");
  const { planner } = planning();
  planner.cancel(planner.find(session));
  open();
  expect((await going).turn).toEqual({ type: "error", content: "cancelled" });
  expect(planner.find(session).status).toBe("cancelled");
  expect(await plans.list()).toEqual([]);
  await stop();
});
