import { expect, test } from "bun:test";
import { beginning, openRoot } from "@uncaged/workflow/host";
import { runSerializer } from "./run-stream.ts";

test("an event whose type holds line ends is told as one event", () => {
  const ref = { hash: "AAAA000000001", threadId: "01ARZ3NDEKTSV4RRFFQ69G5FAV" };
  const serializer = runSerializer(null)(openRoot({ path: "/nowhere" }), ref);
  const event = {
    tag: "QK4DX8TM",
    content: "",
    timestamp: 1,
    type: "a\r\nid: 9\n\nevent: workflow_done",
    stepID: "Set_A",
    payload: { text: "b\r\nevent: end" },
    seq: 3,
    step: 1,
  };
  const { bytes, seq } = serializer.message({ kind: "event", position: beginning, event });
  const lines = new TextDecoder().decode(bytes).split(/\r\n|\r|\n/);
  expect(lines.map((line) => line.split(":")[0])).toEqual(["event", "data", "id", "", ""]);
  expect([lines[0], lines[2], seq]).toEqual(["event: a id: 9 event: workflow_done", "id: 3", 3]);
});
