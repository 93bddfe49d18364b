import { describe, expect, test } from "bun:test";
import { errorOf } from "../../test/error-of.ts";
import { everyType } from "../../test/every-type.ts";
import { checkedDocument } from "./source.ts";

describe("a checked document", () => {
  test("is the document with its warnings, each with its place", () => {
    const text = JSON.stringify(everyType, null, 2).replace('"3.18"', '"3.16"');
    const lineOf = (id: string) =>
      text.slice(0, text.indexOf(`"id": "${id}"`)).split("\n").length - 1;
    const { document, warnings } = checkedDocument(text, "flow.json");
    expect(document.name).toBe("every type");
    expect(warnings).toEqual([
      `flow.json:${lineOf("Tool_010_ReadFile")}:5: Tool_010_ReadFile: a Tool is of version 3.17, and the workflow says 3.16`,
      `flow.json:${lineOf("Subflow_Child")}:5: Subflow_Child: a Subflow is of version 3.17, and the workflow says 3.16`,
    ]);
  });

  test("is refused with all its errors, the first as the message", () => {
    const text = 'version: 3.16\nname: a\nregistry: {}\nsteps:\n  - id: Set_A\n    target: "$x"\n';
    const error = errorOf(() => checkedDocument(text, "flow.yaml"));
    expect(error).toMatchObject({ code: "STEPS_INVALID", kind: "failed" });
    expect(error.message).toBe(
      'flow.yaml:1:10: version must be a text such as "3.18", not 3.16 (and 1 more)',
    );
    expect(error.details).toEqual([
      'flow.yaml:1:10: version must be a text such as "3.18", not 3.16',
      'flow.yaml:6:13: Set_A: target: "$x" is not declared in registry.vars',
    ]);
  });

  test("of a caller with handlers of its own may have their types", () => {
    const text = JSON.stringify({ ...everyType, steps: [{ id: "Mail_A", next: "RETURN" }] });
    expect(checkedDocument(text, "f.json", { customTypes: ["Mail"] }).warnings).toEqual([
      expect.stringContaining("no step is a Stop"),
    ]);
  });

  test.each(["3", "[]", '{"name": "a"}', "null"])(
    "is no other JSON: %s is told what a step workflow has",
    (text) => {
      const { message, hint } = errorOf(() => checkedDocument(text, "p.json"));
      expect(message).toBe(
        "p.json:1:1: this is no step workflow: it has neither version nor steps",
      );
      expect(hint).toBe(
        'a step workflow has "version" ("3.0" to "3.18"), "name", "registry" and an array "steps"',
      );
    },
  );

  test.each(['{"version": "4.0", "steps": []}', '{"version": "3.1", "steps": {}}'])(
    "has a version 3.* and an array of steps: %s is told so too",
    (text) => {
      expect(errorOf(() => checkedDocument(text, "p.json")).hint).toStartWith(
        "a step workflow has",
      );
    },
  );
});
