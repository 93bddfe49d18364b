import { afterAll, expect, setDefaultTimeout, test } from "bun:test";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { cron, does, TestHome, workflow } from "./home.ts";
import { plan } from "./parts.ts";

/* Invalid characters pass through a run. */
setDefaultTimeout(180_000);
afterAll(removeStores);

/** The agent's output, with a replacement character for each half of a surrogate pair and each invalid byte. */
const odd = 'a\0b\uFFFDc\uFFFD\uFFFD{"d": [';

test("a zero byte, half of a surrogate pair, invalid UTF-8 and truncated JSON pass through a run as text", async () => {
  const home = new TestHome();
  const { plans } = home;
  const steps = [
    { ...does("first", "odd"), inputs: { news: "<$trigger_data>" } },
    does("next", "say it", ["first"]),
    does("bad", "odd-error"),
  ];
  const { id } = await plans.create(workflow(plan(steps, {}, { trigger: cron })));
  await plans.confirm(id);
  await plans.run(id, { data: "a\0b\ud800c" });
  const { phase, runs } = await home.ended(id);
  const [run] = runs;
  expect([phase, run?.status, run?.trigger_data]).toEqual(["active", "failed", "a\0b\uFFFDc"]);
  const [first, next, bad] = run?.steps ?? [];
  expect([first?.status, JSON.parse(first?.output_json ?? "")]).toEqual(["succeeded", odd]);
  expect([next?.status, JSON.parse(next?.output_json ?? "")]).toEqual(["succeeded", "said it"]);
  expect([bad?.status, bad?.error]).toEqual(["failed", expect.stringContaining(odd)]);
  expect(run?.error).toContain(odd);
  const lines = home.store.lines(await home.host.find(run?.id.slice(4) ?? ""));
  const inputs = lines.flatMap(({ meta, role }) =>
    meta?.event === "started" ? [[role, meta.inputs]] : [],
  );
  expect(Object.fromEntries(inputs)).toEqual({
    ...{ first: { news: "<a\0b\uFFFDc>" }, next: { first: odd }, bad: {} },
  });
  plans.database.run("DELETE FROM sessions");
  plans.database.run("DELETE FROM step_runs");
  await plans.rebuild();
  expect((await plans.show(id)).runs).toEqual(runs);
});
