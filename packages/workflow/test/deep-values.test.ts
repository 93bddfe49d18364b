import { afterEach, expect, test } from "bun:test";
import { resumeThread } from "../src/local/workers/control.ts";
import { forkThread } from "../src/local/threads/start.ts";
import { asker, endless } from "./fixtures/bundles.ts";
import { removeStores, TestStore } from "./fixtures/store.ts";

afterEach(removeStores);

const deep = JSON.parse("[".repeat(50_000) + "]".repeat(50_000)) as unknown;
const refusal = { code: "VALUE_NOT_JSON", kind: "usage" };

test("a value that a log can't hold is refused, and the worker's other threads continue", async () => {
  const store = new TestStore();
  const hash = await store.add(endless);
  const { threadId } = await store.start(hash);
  const ref = { hash, threadId };
  const { pid } = await store.whenStatus(ref, "running");
  for (const value of [deep, Number.POSITIVE_INFINITY, [Number.NaN]]) {
    expect(store.start(hash, "", { params: { value } })).rejects.toMatchObject(refusal);
    expect(store.start(hash, "", { options: { value } })).rejects.toMatchObject(refusal);
    const edited = { keep: { atStep: 1 }, edit: { meta: { value } }, env: {} };
    expect(forkThread(store.root, ref, edited)).rejects.toMatchObject(refusal);
    const answered = { keep: { atStep: 1 }, input: { content: "x", value }, env: {} };
    expect(forkThread(store.root, ref, answered)).rejects.toMatchObject(refusal);
  }
  const params = { list: [1, { value: Number.NaN }] };
  expect(store.start(hash, "", { params })).rejects.toMatchObject({
    message: "request.params.list[1].value is NaN",
  });
  expect(await store.read(ref)).toMatchObject({ status: "running", pid });
}, 180_000);

test("an answer that a log can't hold is refused, and the question stays open", async () => {
  const store = new TestStore();
  const hash = await store.add(asker);
  const { threadId } = await store.start(hash);
  const ref = { hash, threadId };
  await store.whenStatus(ref, "waiting");
  const answer = (value: unknown) =>
    resumeThread(store.root, ref, { env: {}, input: { content: "x", value } });
  expect(answer(deep)).rejects.toMatchObject(refusal);
  expect((await store.read(ref)).steps).toHaveLength(1);
  await answer("yes");
  await store.whenStatus(ref, "completed");
});
