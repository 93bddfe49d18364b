/** Matches the password of each URL in a text: `postgres://me:password@host`. */
export const urlPassword = /([a-z][a-z0-9+.-]*:\/\/[^/?#\s@]*?):([^/?#\s]+)@/gi;

/** Matches the password in the parameters of a URL: `postgres://me@host/db?password=secret`. */
const passwordParameter = /([a-z][a-z0-9+.-]*:\/\/[^\s#]*[?&](?:ssl)?password=)[^&#\s]+/gi;

/** Removes the passwords of URLs from a text that is shown or logged. */
export const withoutPasswords = (text: string): string =>
  text.includes("://")
    ? text.replace(urlPassword, "$1:***@").replace(passwordParameter, "$1***")
    : text;
