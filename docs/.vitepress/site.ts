import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DefaultTheme } from "vitepress";

/* The pages of the site, in their order. */
export const top = join(import.meta.dirname, "../..");

/** The title of a document: its first heading. */
const titleOf = (path: string): string =>
  /^# (.+)$/m.exec(readFileSync(join(top, path), "utf8"))?.[1]?.replaceAll("`", "") ?? path;

const page = (path: string): DefaultTheme.SidebarItem => ({
  text: titleOf(path),
  link: `/${path.replace(/\.md$/, "")}`,
});
const docs = (folder: string, ...names: string[]) =>
  names.map((name) => page(`docs/${folder}/${name}.md`));

const pagesIn = (glob: string): DefaultTheme.SidebarItem[] =>
  [...new Bun.Glob(glob).scanSync(top)].toSorted((a, b) => a.localeCompare(b)).map(page);

export const title = "uncaged-workflow";
export const description = "A local-first, daemonless, durable engine for agent workflows.";

export const sidebar: DefaultTheme.SidebarItem[] = [
  { text: "Tutorial", items: docs("tutorial", "getting-started", "your-own-workflow") },
  {
    text: "Guides",
    items: docs(
      "guides",
      "install",
      "writing-a-workflow",
      "retries-and-timers",
      "human-input",
      "testing",
      "client",
      "cookbook",
      "failed-thread",
      "upgrade",
      "cost-control",
      "ai-sdk",
      "openai-agents",
      "projects",
      "agents",
      "evals",
      "graphs",
      "step-workflows",
      "step-engine",
      "plans",
      "plan-channels",
      "plan-sandbox",
      "plan-code",
      "console",
      "mcp",
      "operating",
      "cluster",
      "deploy",
      "deploy-cluster",
      "telemetry",
    ),
  },
  {
    text: "Reference",
    items: [
      ...docs(
        "reference",
        "command-line",
        "agents",
        "steps",
        "graphs",
        "plans",
        "plan-settings",
        "server",
        "storage-format",
      ),
      // Written by `npm run api-docs`.
      { text: "API", collapsed: true, items: pagesIn("docs/reference/api/@*/**/*.md") },
    ],
  },
  { text: "Explanation", items: docs("explanation", "reliability", "security", "performance") },
  {
    text: "Coming from",
    items: docs("coming-from", "temporal", "langgraph", "inngest", "n8n", "agent-builder"),
  },
  { text: "Decisions", collapsed: true, items: pagesIn("rfcs/[0-9]*.md") },
];
