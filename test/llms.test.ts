import { expect, test } from "bun:test";
import { descriptionOf, llms, llmsFull } from "../docs/.vitepress/llms.ts";
import { top } from "./source.ts";

const reliability = { text: "Reliability", link: "/docs/explanation/reliability" };
const decision = {
  text: "0001",
  link: "/rfcs/0001-run-a-workflow-as-one-generator-over-one-append-only-log",
};
const site = {
  title: "Site",
  description: "About it.",
  sidebar: [
    { text: "Explanation", items: [reliability] },
    { text: "Decisions", collapsed: true, items: [decision] },
  ],
};

test("a page's description is the first sentence of its first paragraph, as plain text", () => {
  const text = "# Title\n\n```sh\nrun it.\n```\n\nShows `a.b` in\n[plans](plans.md). More.\n";
  expect(descriptionOf(text)).toBe("Shows a.b in plans.");
});

test("the description of a decision is not its status", () => {
  const text = "# 1\n\nStatus: Accepted. Later.\n\n## Context\n\nIt must run.\n";
  expect(descriptionOf(text)).toBe("It must run.");
});

test("a page without prose has no description", () => {
  expect(descriptionOf("# Title\n\n| a |\n| --- |\n")).toBe("");
});

test("llms.txt lists each page of the sidebar under its group", () => {
  const text = llms(site, top);
  expect(text).toStartWith("# Site\n\n> About it.\n\n## Explanation\n\n- [Reliability](/docs/exp");
  expect(text).toMatch(/^- \[0001\]\(\/rfcs\/0001-[\w-]+\): [A-Z].*\.$/m);
});

test("llms-full.txt has the pages of groups that are not collapsed", () => {
  const text = llmsFull(site, top);
  expect(text).toContain("# Reliability");
  expect(text).not.toContain("# 0001");
});
