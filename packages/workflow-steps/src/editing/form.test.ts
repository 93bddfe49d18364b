import { describe, expect, test } from "bun:test";
import { everyType } from "../../test/every-type.ts";
import { applyEdits, editsOf } from "@uncaged/workflow/editing";
import { stepsEditing } from "./editing.ts";
import { toolsOf } from "./tools.ts";

const readFile = {
  name: "readFile",
  description: "Reads a file.",
  input: {
    type: "object",
    properties: {
      path: { type: "string", description: "Its path." },
      limit: { type: "integer" },
    },
    required: ["path"],
  },
};
const kind = stepsEditing(toolsOf([readFile]));
const propertiesOf = (id: string, document: unknown = everyType) =>
  kind.form(document, id)?.schema.properties as Record<string, Record<string, unknown>>;

function changed(
  id: string,
  path: (string | number)[],
  value: unknown,
  document: object = everyType,
) {
  const edit = kind.form(document, id)?.edit?.(path, value);
  if (!edit || "refused" in edit) throw new Error("refused");
  const text = JSON.stringify(document);
  const made = JSON.parse(applyEdits(text, editsOf(text, edit.changes))) as typeof everyType;
  return made.steps[everyType.steps.findIndex((step) => step.id === id)];
}

describe("the form of a step", () => {
  test.each(everyType.steps.map(({ id }) => id))("%s has each field of the step", (id) => {
    const step = everyType.steps.find((one) => one.id === id) ?? {};
    const { meta: _, ...fields } = step as Record<string, unknown>;
    expect(Object.keys(propertiesOf(id))).toEqual(expect.arrayContaining(Object.keys(fields)));
  });

  test("of a Tool has the inputs of the tool's schema, by their documented names", () => {
    const { input, tool, timeout, allowError } = propertiesOf("Tool_010_ReadFile");
    expect(input).toMatchObject({
      required: ["file_path"],
      properties: { file_path: { description: "Its path." }, limit: { type: "integer" } },
    });
    expect(tool?.enum).toEqual(["ReadFile"]);
    expect([timeout?.type, allowError?.type]).toEqual(["number", "boolean"]);
    expect("in" in propertiesOf("Tool_010_ReadFile")).toBe(false);
  });

  test("offers step ids where a step is referenced", () => {
    expect(propertiesOf("LLM_Plan").onError?.enum).toContain("Noop_Failed");
    expect(propertiesOf("LLM_Plan").next?.enum).toEqual(
      expect.arrayContaining(["RETURN", "Set_More"]),
    );
    expect("next" in propertiesOf("Done_All")).toBe(false);
  });

  test("edits a title, a case by its parts, and a list by added items", () => {
    expect(changed("LLM_Plan", ["title"], "Plan it")?.meta).toEqual({ title: "Plan it" });
    expect(changed("Set_Start", ["title"], "")?.meta).toEqual({ x: 10, y: 20 });
    expect(changed("Branch_Enough", ["cases", 0, "when"], "=$count > 9")?.cases?.[0]).toEqual([
      "=$count > 9",
      "Noop_Enough",
    ]);
    expect(changed("Branch_Enough", ["cases", 0], undefined)?.cases).toEqual([
      ["ELSE", "Set_More"],
    ]);
    expect(
      changed("Branch_Enough", ["cases", 2], { when: "1", then: "Set_More" })?.cases,
    ).toHaveLength(3);
    expect(changed("Fork_Both", ["children", 2], "Loop_While")?.children).toHaveLength(3);
    expect(changed("Fork_Both", ["children"], ["Loop_While"])?.children).toEqual(["Loop_While"]);
  });

  test("keeps unchanged values as they are written", () => {
    const text =
      '{"version":"3.18","name":"n","registry":{},"steps":[{"id":"LLM_A","in":{"prompt":"x","max_tokens":1.0e3}}]}';
    const edit = kind.form(JSON.parse(text), "LLM_A")?.edit?.(["in", "prompt"], "y");
    if (!edit || "refused" in edit) throw new Error("refused");
    expect(applyEdits(text, editsOf(text, edit.changes))).toBe(text.replace('"x"', '"y"'));
  });
});
