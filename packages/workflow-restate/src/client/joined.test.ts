import { expect, test } from "bun:test";
import { joined } from "./joined.ts";

/** A read that the test resolves, and its calls. */
function held() {
  const reads: PromiseWithResolvers<string>[] = [];
  const read = joined(() => {
    const one = Promise.withResolvers<string>();
    reads.push(one);
    return one.promise;
  });
  return { read, reads };
}
const turn = () => new Promise<void>((done) => setTimeout(done, 0));

test("callers share a read that has not started", async () => {
  const { read, reads } = held();
  const asked = [read(), read(), read()];
  await turn();
  expect(reads).toHaveLength(1);
  reads[0]?.resolve("one");
  expect(await Promise.all(asked)).toEqual(["one", "one", "one"]);
});

test("a caller during a read gets the next read", async () => {
  const { read, reads } = held();
  const first = read();
  await turn();
  const later = [read(), read()];
  await turn();
  expect(reads).toHaveLength(1);
  reads[0]?.resolve("one");
  expect(await first).toBe("one");
  await turn();
  expect(reads).toHaveLength(2);
  reads[1]?.resolve("two");
  expect(await Promise.all(later)).toEqual(["two", "two"]);
});

test("a failed read fails for its callers, and the next read runs", async () => {
  const { read, reads } = held();
  const [one, other] = [read(), read()];
  await turn();
  const next = read();
  reads[0]?.reject(new Error("lost"));
  const lost = await Promise.allSettled([one, other]);
  expect(lost.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await turn();
  reads[1]?.resolve("two");
  expect(await next).toBe("two");
});
