const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width">
    <title>uncaged-workflow</title>
  </head>
  <body>
    <h1>uncaged-workflow</h1>
    <p>This server asks for its token, and this browser does not have it, or has it no more.</p>
    <p>Open the address that <code>uncaged-workflow serve</code> has printed in its terminal.</p>
  </body>
</html>
`;

/** Whether a request comes from somebody who looks at a page, and not from a program. */
export const wantsPage = ({ headers, method, url }: Request): boolean =>
  method === "GET" &&
  (headers.get("accept") ?? "").includes("text/html") &&
  !/^\/(api|workflow)(\/|$)/.test(new URL(url).pathname);

/** The page for a browser that must be let in first. */
export const noToken = (): Response =>
  new Response(page, { status: 401, headers: { "Content-Type": "text/html; charset=utf-8" } });
