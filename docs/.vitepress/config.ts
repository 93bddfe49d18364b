import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitepress";
import { llms, llmsFull } from "./llms.ts";
import { description, sidebar, title, top } from "./site.ts";

/* The site of the documents of this repository. The site and its build load nothing from other hosts. */
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
  // Links to sources, which are not part of the site.
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
