import { existsSync } from "node:fs";

const candidates = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** Path of Chromium: `CHROMIUM`, else an installed Chromium; null if none is found. */
export const findChromium = (): string | null =>
  candidates.find((path) => path !== undefined && existsSync(path)) ?? null;
