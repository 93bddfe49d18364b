import type { ComponentProps, ReactNode } from "react";
import styles from "./button.module.css";

type Look = "solid" | "plain" | "quiet" | "danger";

type Props = ComponentProps<"button"> & {
  look?: Look;
  small?: boolean;
  icon?: ReactNode;
  /** Shown as at work, and not to be pressed again. */
  isBusy?: boolean;
};

/** The class of what looks like a button: for links and the triggers of menus. */
export const buttonClass = (look: Look = "plain", small = false): string =>
  [styles.button, styles[look], small ? styles.small : ""].join(" ");

/** A button; `solid` is the one thing to do on a page. */
export function Button(props: Props) {
  const { look, small, icon, isBusy = false, children, onClick, className = "", ...rest } = props;
  return (
    <button
      type="button"
      {...rest}
      className={`${buttonClass(look, small)} ${children ? "" : styles.bare} ${className}`}
      // Not `disabled`: that would take the focus away, and a failure would leave it nowhere.
      aria-disabled={isBusy || undefined}
      aria-busy={isBusy || undefined}
      onClick={(event) => {
        if (isBusy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {icon}
      {children}
    </button>
  );
}
