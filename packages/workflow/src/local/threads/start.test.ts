import { afterEach, expect, test } from "bun:test";
import { counter } from "../../../test/fixtures/bundles.ts";
import { removeStores, TestStore } from "../../../test/fixtures/store.ts";
import { messageOf } from "../../../test/fixtures/until.ts";
import { realSystem } from "../../system/real.ts";
import { useSystem } from "../../system/system.ts";

afterEach(async () => {
  useSystem(realSystem);
  await removeStores();
});

test("a clock beyond the range of an id is reported, and a given id is used", async () => {
  const store = new TestStore();
  const hash = await store.add(counter);
  for (const [year, now] of [
    [1931, Date.UTC(1931, 9)],
    [11_533, Date.UTC(11_533, 6)],
  ]) {
    useSystem({ ...realSystem, clock: { ...realSystem.clock, now: () => now as number } });
    expect(await messageOf(store.start(hash))).toContain(`is set to the year ${year}`);
  }
  const ref = await store.start(hash, "", { threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV" });
  useSystem(realSystem);
  await store.whenStatus(ref, "completed");
});
