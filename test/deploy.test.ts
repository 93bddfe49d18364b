import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { deployed } from "./proxies.ts";
import { top } from "./source.ts";

test.each(["uncaged-workflow.service", "nginx.conf", "Caddyfile"])(
  "the page about deployment quotes %s",
  (name) => {
    const page = readFileSync(join(top, "docs/guides/deploy.md"), "utf8");
    expect(page).toContain(`\n${deployed(name, {})}\`\`\`\n`);
  },
);
