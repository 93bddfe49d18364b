import { existsSync } from "node:fs";

const places = [
  process.env.CHROMIUM,
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** The Chromium of this machine: that which `CHROMIUM` names, else the system's; null without one. */
export const findChromium = (): string | null =>
  places.find((place) => place !== undefined && existsSync(place)) ?? null;
