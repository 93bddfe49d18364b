import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DefaultTheme } from "vitepress";

/* The files of the site for language models, in the format of https://llmstxt.org. */

type Site = { title: string; description: string; sidebar: DefaultTheme.SidebarItem[] };

/** Returns the first sentence of the first paragraph of prose in a page, without links and code marks. */
export function descriptionOf(text: string): string {
  const paragraph = text
    .replace(/^(```|~~~)[^]*?^\1/gm, "")
    .split(/\n\s*\n/)
    .find((block) => /^[\p{L}`[]/u.test(block) && !block.startsWith("Status: "));
  const [sentence = ""] = /^[^]*?[.!?](?=\s|$)/.exec(paragraph ?? "") ?? [];
  return sentence
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replaceAll("`", "")
    .replace(/\s+/g, " ");
}

const pagesOf = ({ link, items = [] }: DefaultTheme.SidebarItem): string[] => [
  ...(link ? [link] : []),
  ...items.flatMap(pagesOf),
];

const textAt = (top: string, link: string): string => readFileSync(join(top, `${link}.md`), "utf8");

/** Returns the contents of `llms.txt`: each page of the sidebar with its title, its link and its first sentence. */
export function llms({ title, description, sidebar }: Site, top: string): string {
  const line = ({ text, link = "" }: DefaultTheme.SidebarItem): string => {
    const about = descriptionOf(textAt(top, link));
    return `- [${text}](${link})${about && `: ${about}`}`;
  };
  const section = ({ text, items = [] }: DefaultTheme.SidebarItem): string => {
    const own = items.filter(({ link }) => link).map(line);
    const inner = items.filter((item) => item.items).map(section);
    return [`## ${text}`, own.join("\n"), ...inner].filter(Boolean).join("\n\n");
  };
  return `${[`# ${title}`, `> ${description}`, ...sidebar.map(section)].join("\n\n")}\n`;
}

/** Returns the contents of `llms-full.txt`: the text of the pages, except groups that the sidebar shows collapsed. */
export function llmsFull({ sidebar }: Pick<Site, "sidebar">, top: string): string {
  const open = (item: DefaultTheme.SidebarItem): DefaultTheme.SidebarItem[] =>
    item.collapsed ? [] : [{ ...item, items: item.items?.flatMap(open) }];
  const texts = sidebar
    .flatMap(open)
    .flatMap(pagesOf)
    .map((link) => textAt(top, link).trim());
  return `${texts.join("\n\n")}\n`;
}
