import { expect, test } from "bun:test";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { everyType } from "../../../../../packages/workflow-steps/test/every-type.ts";
import { stepsKind } from "./kind.ts";

const kind = stepsKind([]);

test("the icon of a Tool has the letters TL", () => {
  const { icon } = kind.palette.find(({ type }) => type === "Tool") ?? {};
  if (!icon) throw new Error("no Tool is offered");
  expect(renderToStaticMarkup(createElement(icon))).toContain("lucide-tool-letters");
});

test("the palette has every type of step", () => {
  const offered = new Set(kind.palette.map(({ type }) => type));
  expect(kind.read(everyType).nodes.filter(({ type }) => !offered.has(type))).toEqual([]);
});
