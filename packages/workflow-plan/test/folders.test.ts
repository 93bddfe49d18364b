import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { tick } from "../src/entry/service.ts";
import { checkPrefix } from "../src/step/check-folder.ts";
import { hello, TestHome, workflow } from "./home.ts";

/* Folders that killed workers and check scripts left in the user's cache. */
setDefaultTimeout(90_000);
afterEach(removeStores);

test("the next pass removes only the folders of ended threads and of its own check scripts", async () => {
  const home = new TestHome();
  const { host, plans, store } = home;
  const env = { ...store.env, PATH: process.env.PATH ?? "", XDG_CACHE_HOME: store.folder };
  const own = home.open({ env });
  const { id } = await plans.create(workflow(hello()));
  const { threadId } = await plans.confirm(id);
  await home.ended(id);
  // Start another thread of the bundle, which is not a run of the plan.
  const { bundle } = plans.get(id).metadata ?? {};
  const given = { prompt: "", cwd: store.folder, env };
  const ref = await host.start({ ...given, workflow: bundle?.name ?? "" });
  for await (const _ of host.observe(ref));
  const elsewhere = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
  const checks = [checkPrefix(home.home), checkPrefix("/another/home")].map((one) => `${one}x`);
  const folders = join(store.folder, "uncaged-workflow/runs");
  for (const name of [threadId ?? "", ref.threadId, elsewhere, ...checks])
    mkdirSync(join(folders, name, "work"), { recursive: true });
  const commandOf = () => Promise.reject(new Error("no check is due"));
  await tick(own, { env, host, commandOf });
  expect(readdirSync(folders).toSorted()).toEqual([elsewhere, checks[1] ?? ""].toSorted());
});
