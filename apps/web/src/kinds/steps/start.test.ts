import { expect, test } from "bun:test";
import { declaredBeginning, paramsOf } from "./run-dialogs.tsx";

test("a run from a step of a document without a run starts with the declared values", () => {
  const registry = {
    params: ["goal(STRING)", "n(INT) = 2"],
    vars: ["$x(STRING) = hi", "$y(OBJECT)"],
  };
  expect(declaredBeginning({ registry })).toEqual({
    threadId: null,
    steps: 0,
    params: { goal: null, n: 2 },
    variables: { $x: "hi", $y: null },
  });
  expect(paramsOf({ registry })).toMatchObject({ required: ["goal"] });
  for (const broken of [{}, { registry: 3 }, { registry: { params: ["("] } }]) {
    expect(paramsOf(broken)).toBeNull();
    expect(declaredBeginning(broken)).toMatchObject({ params: {}, variables: {} });
  }
});
