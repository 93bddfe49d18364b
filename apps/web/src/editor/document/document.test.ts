import { describe, expect, test } from "bun:test";
import { boxes } from "../../../test/boxes.ts";
import { EditedDocument } from "./document.ts";

const opened = (text = boxes.emptyText): EditedDocument => new EditedDocument(boxes, text);

const add = (document: EditedDocument, x: number) =>
  document.apply(boxes.add(document.state().value, "box", { x, y: 0 }, null));

const idsIn = (document: EditedDocument) => document.state().drawing.nodes.map(({ id }) => id);

describe("a document", () => {
  test("stays the opened text byte for byte until it is edited", () => {
    const text = '{"boxes" : [ {"id":"a","x":1.50,"y":2} ],\r\n "lines":[] , "other": 1e2}  \n';
    const document = opened(text);
    add(document, 1);
    document.undo();
    expect(document.state().text).toBe(text);
  });

  test("has one history for the canvas, the forms and the text", () => {
    const document = opened();
    add(document, 1);
    const { text } = document.state();
    document.edit([{ offset: text.indexOf("box-1"), removed: "box-1", inserted: "one" }], "Type");
    expect(idsIn(document)).toEqual(["one"]);
    document.undo();
    expect(idsIn(document)).toEqual(["box-1"]);
    document.undo();
    expect(document.state().text).toBe(boxes.emptyText);
    document.redo();
    document.redo();
    expect(idsIn(document)).toEqual(["one"]);
    expect(document.state().redoable).toBeNull();
  });

  test("keeps its drawing while its text is invalid JSON, names the line, and refuses canvas edits", () => {
    const document = opened();
    add(document, 1);
    const { length } = document.state().text;
    document.edit([{ offset: length - 2, removed: "}", inserted: "" }], "Type");
    expect(document.state().broken).toMatchObject({ line: 9, message: "close brace expected" });
    expect(idsIn(document)).toEqual(["box-1"]);
    expect(add(document, 2)).toBe(false);
    expect(document.state().notice?.text).toBe("Invalid JSON in line 9: fix it first.");
    document.undo();
    expect(document.state().broken).toBeNull();
  });

  test("undoes and redoes 10,000 steps", () => {
    const document = opened();
    for (let step = 0; step < 10_000; step += 1) {
      document.edit([{ offset: 0, removed: "", inserted: " " }], "Type");
    }
    const { text } = document.state();
    for (let step = 0; step < 10_000; step += 1) document.undo();
    expect(document.state().text).toBe(boxes.emptyText);
    for (let step = 0; step < 10_000; step += 1) document.redo();
    expect(document.state().text).toBe(text);
  });

  test("makes one step of consecutive typing into one field", () => {
    const document = opened('{"boxes":[{"id":"a","x":0,"y":0}]}');
    for (const value of ["n", "na", "nam"]) {
      const changes = [{ path: ["boxes", 0, "name"], value }];
      document.apply({ label: "Name", changes, merge: "boxes.0.name" });
    }
    document.undo();
    expect(document.state().text).toBe('{"boxes":[{"id":"a","x":0,"y":0}]}');
  });

  test("keeps the objects of unchanged nodes", () => {
    const document = opened();
    add(document, 1);
    add(document, 2);
    const [first] = document.state().drawing.nodes;
    const { selection } = document.state();
    document.apply({ label: "Move", changes: [{ path: ["boxes", 1, "x"], value: 9 }] });
    expect(document.state().drawing.nodes[0]).toBe(first as NonNullable<typeof first>);
    expect(document.state().drawing.nodes[1]?.at).toEqual({ x: 9, y: 0 });
    expect(document.state().selection).toBe(selection);
  });

  test("selects added nodes, and deleted nodes after an undo", () => {
    const document = opened();
    add(document, 1);
    expect([...document.state().selection.nodes]).toEqual(["box-1"]);
    document.apply(boxes.remove(document.state().value, ["box-1"], []));
    expect(document.state().selection.nodes.size).toBe(0);
    document.undo();
    expect([...document.state().selection.nodes]).toEqual(["box-1"]);
  });

  test("is checked after a change", async () => {
    const document = opened('{"boxes":[{"id":"a","x":0,"y":0,"name":""}]}');
    document.check();
    expect(document.state().problems).toEqual([
      { path: ["boxes", 0, "name"], message: "a box needs a name", severity: "error" },
    ]);
  });
});
