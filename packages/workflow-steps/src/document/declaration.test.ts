import { describe, expect, test } from "bun:test";
import {
  isKnownType,
  parseParamDeclaration,
  parseServiceSignature,
  parseVariableDeclaration,
} from "./registry.ts";

describe("the declaration of a param", () => {
  test.each([
    ["goal(STRING)", { name: "goal", type: "STRING" }],
    ["  goal ( string )  ", { name: "goal", type: "STRING" }],
    ["n(INT) = 3", { name: "n", type: "INT", default: 3 }],
    ["n(int)=-3", { name: "n", type: "INT", default: -3 }],
    ["on(BOOL)= true", { name: "on", type: "BOOL", default: true }],
    ["s(STRING) = 3", { name: "s", type: "STRING", default: "3" }],
    ["s(STRING) = two words", { name: "s", type: "STRING", default: "two words" }],
    ['s(STRING) = "a = b"', { name: "s", type: "STRING", default: "a = b" }],
    ["s(STRING) =", { name: "s", type: "STRING", default: "" }],
    ["s(STRING) = null", { name: "s", type: "STRING", default: null }],
    ["f(FILE_REF) = a/b.md", { name: "f", type: "FILE_REF", default: "a/b.md" }],
    ["o(OBJECT) = {}", { name: "o", type: "OBJECT", default: {} }],
    ["l([string]) = []", { name: "l", type: "[STRING]", default: [] }],
    ["l( [ OBJECT ] )", { name: "l", type: "[OBJECT]" }],
    ["x(Money) = 3.5", { name: "x", type: "Money", default: 3.5 }],
    ["目标(STRING)", { name: "目标", type: "STRING" }],
  ])("%p is read", (text, declaration) => {
    expect<object>(parseParamDeclaration(text)).toEqual(declaration);
  });

  test.each([
    "",
    "goal",
    "goal()",
    "(STRING)",
    "goal(STRING",
    "goal STRING",
    "goal(STRING) 3",
    "a-b(STRING)",
    "1a(STRING)",
    "$goal(STRING)",
    "true(BOOL)",
    "SYSVAR(OBJECT)",
    "n(INT) = three",
    "n(INT) = 3.5",
    "n(INT) =",
    "o(OBJECT) = [1]",
  ])("%p is refused with an error that quotes it", (text) => {
    expect(() => parseParamDeclaration(text)).toThrow(`declaration ${JSON.stringify(text)}: `);
  });

  test("is refused if it is not a text", () => {
    expect(() => parseParamDeclaration(3 as unknown as string)).toThrow("a number");
  });
});

test("the name of a variable must begin with $, and keeps it", () => {
  expect(parseVariableDeclaration("$n (INT) = 0")).toEqual({ name: "$n", type: "INT", default: 0 });
  expect(() => parseVariableDeclaration("n(INT)")).toThrow("must begin with $");
  expect(() => parseVariableDeclaration("$(INT)")).toThrow("missing name");
});

describe("the signature of a service", () => {
  const list = [
    { name: "p", type: "STRING" },
    { name: "q", type: "[OBJECT]" },
  ];
  test.each([
    ["Find(p(STRING), q([OBJECT])) RETURN r(INT)", list, [{ name: "r", type: "INT" }]],
    [" Find ( p ( string ) ,q([object]) )return r(Money)", list, [{ name: "r", type: "Money" }]],
    ["Find(p(STRING),q([OBJECT]))", list, []],
    ["Find()", [], []],
    ["Find( ) RETURN p(STRING), q([OBJECT]) ", [], list],
  ])("%p is read", (text, params, returns) => {
    expect(parseServiceSignature(text)).toEqual({ name: "Find", params, returns });
  });

  test.each([
    "",
    "Find",
    "Find(",
    "Find(p)",
    "Find(p(STRING)",
    "Find(p(STRING),)",
    "Find(p(STRING) q(INT))",
    "Find() RETURN",
    "Find() RETURN r",
    "Find() r(INT)",
    "Find() RETURN r(INT) x",
  ])("%p is refused with an error that quotes it", (text) => {
    expect(() => parseServiceSignature(text)).toThrow(`declaration ${JSON.stringify(text)}: `);
  });
});

test("a type's name is case-insensitive", () => {
  expect(["STRING", "FILE_REF", "[OBJECT]"].every(isKnownType)).toBe(true);
  expect(["Money", "string", "toString"].some(isKnownType)).toBe(false);
});
