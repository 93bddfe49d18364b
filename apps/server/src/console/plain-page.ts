/** Whether a path is the console's: all but those of the API and of runs. */
export const isPagePath = (path: string): boolean => !/^\/(api|workflow)(\/|$)/.test(path);

/** Whether a request is a browser's, for a page. */
export const wantsPage = ({ headers, method, url }: Request): boolean =>
  method === "GET" &&
  (headers.get("accept") ?? "").includes("text/html") &&
  isPagePath(new URL(url).pathname);

export const notBuilt = (): Response =>
  plainPage(200, [
    "The server runs. The console is not built here, so there is no page to show.",
    'The API is: <a href="/api/openapi.json">/api/openapi.json</a>',
  ]);

export const noToken = (): Response =>
  plainPage(401, [
    "This server requires its token, and this browser does not have it, or no longer.",
    "Open the address that <code>uncaged-workflow serve</code> has printed in its terminal.",
  ]);

/** A page without the console. The paragraphs are HTML. */
function plainPage(status: number, paragraphs: string[]): Response {
  const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>uncaged-workflow</title>
  </head>
  <body>
    <h1>uncaged-workflow</h1>
    ${paragraphs.map((text) => `<p>${text}</p>`).join("\n    ")}
  </body>
</html>
`;
  return new Response(page, { status, headers: { "Content-Type": "text/html; charset=utf-8" } });
}
