const openers: Partial<Record<NodeJS.Platform, string[]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Opens a URL in the user's browser. False when there is no program for that. */
export function openBrowser(url: string): boolean {
  const [program = "", ...args] = openers[process.platform] ?? ["xdg-open"];
  if (!Bun.which(program)) return false;
  const options = { stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
  Bun.spawn([program, ...args, url], options).unref();
  return true;
}
