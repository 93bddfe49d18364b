/** Matches the password of each URL in a text: `postgres://me:password@host`. */
export const urlPassword = /([a-z][a-z0-9+.-]*:\/\/[^/?#\s@]*?):([^/?#\s]+)@/gi;

/** Removes the passwords of URLs from a text that is shown or logged. */
export const withoutPasswords = (text: string): string =>
  text.includes("://") ? text.replace(urlPassword, "$1:***@") : text;
