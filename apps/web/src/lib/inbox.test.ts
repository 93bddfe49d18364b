import type { PlanRow, ThreadRow } from "@uncaged/workflow-server/api-types";
import { expect, test } from "bun:test";
import { itemsOf } from "./inbox.ts";

test("a thread of a plan is not listed as a question once the decision was taken", () => {
  const thread = {
    ...{
      threadId: "T1",
      status: "waiting",
      steps: 1,
      updatedAt: 0,
      subject: "",
      workflow: "report",
    },
    at: { role: "look", text: "it is broken" },
  } as ThreadRow;
  const wanted = { threadId: "T1", stepId: "look", question: "1", error: "it is broken" };
  const plan = { name: "Report", wanted: [wanted], last_run: null, phase: "running" };
  const kindsOf = (...plans: object[]) =>
    itemsOf([thread], plans as PlanRow[]).map(({ kind }) => kind);
  expect(kindsOf()).toEqual(["question"]);
  expect(kindsOf(plan)).toEqual(["decision"]);
  expect(kindsOf({ ...plan, wanted: [] })).toEqual([]);
});
