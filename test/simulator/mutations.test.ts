import { expect, test } from "bun:test";
import { mutated, mutations } from "./mutations.ts";

test.each([...mutations])("the defect $name applies to the current code", (mutation) => {
  expect(mutated(mutation).length).toBeGreaterThan(0);
});
