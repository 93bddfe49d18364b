import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin, type ProxyOptions } from "vite";

// For `bun run dev`: the URL with the token that `uncaged-workflow serve` prints.
const served = new URL(process.env.CONSOLE_API ?? "http://127.0.0.1:9160");

const toServer: ProxyOptions = {
  target: served.origin,
  changeOrigin: true,
  headers: { Authorization: `Bearer ${served.searchParams.get("token") ?? ""}` },
  // The server would refuse the dev server's origin.
  configure: (proxy) =>
    proxy.on("proxyReq", (request) => {
      for (const name of ["origin", "sec-fetch-site"]) request.removeHeader(name);
    }),
};

type Modules = { getModuleInfo: (id: string) => { importedIds: readonly string[] } | null };

const ofOthers = /lucide-react|(?:queries|mutation)Observer|use(?:Queries|Mutation)\b/;

let first: ReadonlySet<string> | undefined;

/** The chunk of the modules of the first view, which load together. */
function firstOf(id: string, modules: Modules): string | null {
  first ??= reachableFrom(join(import.meta.dirname, "src/main.tsx"), modules);
  // Index modules name the icons and the hooks of every page.
  return first.has(id) && !ofOthers.test(id) ? "first" : null;
}

function reachableFrom(start: string, modules: Modules): ReadonlySet<string> {
  const reached = new Set([start]);
  for (const id of reached)
    for (const imported of modules.getModuleInfo(id)?.importedIds ?? []) reached.add(imported);
  return reached;
}

/** Lets the page paint before its styles arrive, and compresses the files of the first view. */
const quickFirstPaint: Plugin = {
  name: "quick-first-paint",
  apply: "build",
  enforce: "post",
  transformIndexHtml: {
    order: "post",
    handler(html) {
      const links: string[] = [];
      const rest = html.replace(/\n *<link rel="stylesheet"[^>]*>/g, (link) => {
        links.push(link);
        return "";
      });
      return rest.replace("\n  </body>", `${links.join("")}\n  </body>`);
    },
  },
  // In earlier hooks, the code still changes.
  writeBundle({ dir = "" }, bundle) {
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11 };
    for (const { fileName } of Object.values(bundle)) {
      if (!/\bfirst-.*\.(js|css)$/.test(fileName)) continue;
      const path = join(dir, fileName);
      writeFileSync(`${path}.br`, brotliCompressSync(readFileSync(path), { params }));
    }
  },
};

export default defineConfig({
  // Vite minifies for the browsers below.
  plugins: [react(), tailwindcss({ optimize: false }), quickFirstPaint],
  build: {
    target: ["chrome123", "firefox121", "safari17.5"],
    // The server's policy forbids inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The package script reads and ships it.
    license: { fileName: "licenses.json" },
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: firstOf, debugName: "first" }] } },
    },
  },
  server: {
    proxy: { "/api": toServer, "^/workflow/": toServer },
  },
});
