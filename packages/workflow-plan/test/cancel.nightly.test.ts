import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { failureOf } from "../../workflow-agents/test/published.ts";
import { removeStores } from "../../workflow/test/fixtures/store.ts";
import { cron, hello, TestHome, workflow } from "./home.ts";
import { closeBots } from "./router/chat.ts";

/* Cancelling and removing plans: the discarded state, and the freed names. */
setDefaultTimeout(90_000);
afterEach(async () => {
  await closeBots();
  await removeStores();
});

const watched = (name: string) => hello({ name, trigger: cron });

test("a cancelled change is gone, and the confirmed plan stays", async () => {
  const { plans } = new TestHome();
  const { id } = await plans.create(workflow(watched("One")));
  await plans.confirm(id);
  await plans.replace({ ...plans.get(id), name: "Two" });
  expect(plans.draft(id)?.name).toBe("Two");
  const { what, workflow: now } = await plans.cancel(id);
  expect([what, now.name, now.phase, now.metadata?.draft]).toEqual([
    ...["change", "One", "active", undefined],
  ]);
  expect(plans.draft(id)).toBeNull();
  expect(String(await failureOf(plans.cancel(id)))).toContain("is active and has no run to cancel");
  const other = await plans.create(workflow(watched("Three")));
  expect(await plans.cancel(other.id)).toMatchObject({
    ...{ what: "plan", workflow: { phase: "planning" } },
  });
});

test("the name of a removed plan is free for the next plan, and its threads and versions stay", async () => {
  const home = new TestHome();
  const { host, plans } = home;
  const add = async (description: string) => {
    const { id } = await plans.create(workflow(hello({ name: "Builds", description })));
    const { threadId } = await plans.confirm(id);
    await home.ended(id);
    return { id, threadId: threadId ?? "", bundle: plans.get(id).metadata?.bundle };
  };
  const first = await add("the first");
  const second = await add("the second");
  expect([first.bundle?.name, second.bundle?.name]).toEqual(["builds", "builds-2"]);
  await plans.remove(first.id);
  expect((await host.workflows()).map(({ name }) => name)).toEqual(["builds-2"]);
  expect(await host.find(first.threadId)).toMatchObject({ hash: first.bundle?.hash });
  expect(await host.descriptor(first.bundle?.hash ?? "")).not.toBeNull();
  const third = await add("the third");
  expect(third.bundle?.name).toBe("builds");
});

test("a shared name stays when one of its plans is removed", async () => {
  const home = new TestHome();
  const { host, plans } = home;
  const confirmed = async (name: string) => {
    const { id } = await plans.create(workflow(watched(name)));
    await plans.confirm(id);
    return { id, bundle: plans.get(id).metadata?.bundle ?? { name: "", hash: "" } };
  };
  // Another program registers a different version under the name, so `remove` must keep the name.
  const one = await confirmed("One");
  const two = await confirmed("Two");
  await host.register(one.bundle.name, await bundleOf(home, two.bundle.hash));
  await plans.remove(one.id);
  expect(await host.workflow("one")).toMatchObject({ hash: two.bundle.hash });
  // Another program registers the same version first, so `remove` must also keep the name.
  await plans.remove(two.id);
  const three = await confirmed("Three");
  await plans.remove(three.id);
  await host.register("three", await bundleOf(home, three.bundle.hash));
  const again = await confirmed("Three");
  expect(again.bundle).toEqual(three.bundle);
  await plans.remove(again.id);
  expect(await host.workflow("three")).toMatchObject({ hash: three.bundle.hash });
});

async function bundleOf({ host, store }: TestHome, hash: string): Promise<string> {
  const path = `${store.folder}/${hash}.esm.js`;
  await Bun.write(path, await host.source(hash));
  return path;
}
