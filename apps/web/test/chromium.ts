import { existsSync } from "node:fs";

const candidates = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** Path of Chromium: `CHROMIUM`, else the system's; null without one. */
export const findChromium = (): string | null =>
  candidates.find((path) => path !== undefined && existsSync(path)) ?? null;
