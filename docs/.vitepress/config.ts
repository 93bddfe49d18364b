import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DefaultTheme, defineConfig } from "vitepress";
import { llms, llmsFull } from "./llms.ts";

/* The site of the documents of this repository. It loads nothing from elsewhere, also while it is built. */
const top = join(import.meta.dirname, "../..");

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

const title = "uncaged-workflow";
const description = "A local-first, daemonless, durable engine for agent workflows.";

const sidebar: DefaultTheme.SidebarItem[] = [
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
      "cookbook",
      "failed-thread",
      "cost-control",
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

export default defineConfig({
  title,
  description,
  lang: "en",
  srcDir: top,
  srcExclude: ["**/node_modules/**", "{apps,bench,packages,scripts,test,api}/**", ".*/**"],
  outDir: join(import.meta.dirname, "../dist"),
  cacheDir: join(top, ".cache/site"),
  rewrites: { "README.md": "index.md" },
  cleanUrls: true,
  // Sources, which the site does not have.
  ignoreDeadLinks: [
    /\.(?:ts|tsx|json|yaml)$/,
    /^(?:\.\/|\.\.\/)*(?:apps|examples|packages|scripts|test|bench)\//,
  ],
  markdown: {
    html: false,
    config(md) {
      // Vue would evaluate `{{…}}` in code spans.
      md.core.ruler.push("literal-code-spans", ({ tokens }) => {
        const code = tokens.flatMap(({ children }) => children ?? []);
        for (const token of code) if (token.type === "code_inline") token.attrSet("v-pre", "");
      });
    },
  },
  themeConfig: {
    outline: [2, 3],
    search: { provider: "local" },
    sidebar,
  },
  buildEnd({ outDir }) {
    writeFileSync(join(outDir, "llms.txt"), llms({ title, description, sidebar }, top));
    writeFileSync(join(outDir, "llms-full.txt"), llmsFull({ sidebar }, top));
  },
});
