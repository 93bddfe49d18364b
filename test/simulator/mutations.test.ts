import { expect, test } from "bun:test";
import { mutated, mutations } from "./mutations.ts";

test.each([...mutations])("the defect $name is planted in the code as it is", (mutation) => {
  expect(mutated(mutation).length).toBeGreaterThan(0);
});
