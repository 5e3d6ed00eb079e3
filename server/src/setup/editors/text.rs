//! The configuration of each editor, in its own language. Pure.

/// Start of a file that setup wrote.
pub const MARKER: &str = "-- Written by `backstitch setup neovim`";

pub fn neovim(binary: &str) -> String {
    let command = lua(binary);
    format!(
        r"{MARKER}; `backstitch setup neovim --uninstall` removes it.
vim.lsp.config('backstitch', {{
  cmd = {{ {command}, 'lsp' }},
  root_markers = {{ '.backstitch.toml', '.git' }},
}})
vim.lsp.enable('backstitch')

vim.api.nvim_create_autocmd('LspAttach', {{
  group = vim.api.nvim_create_augroup('backstitch', {{}}),
  callback = function(event)
    local client = vim.lsp.get_client_by_id(event.data.client_id)
    if client and client.name == 'backstitch' and vim.lsp.codelens.enable then
      vim.lsp.codelens.enable(true, {{ client_id = client.id }})
    end
  end,
}})
"
    )
}

pub fn emacs(binary: &str) -> String {
    let command = double_quoted(binary);
    format!(
        ";; Backstitch: `M-x backstitch` serves the buffer, instead of the server of its language.
(defun backstitch ()
  \"Let Backstitch serve the buffers of this mode in this project.\"
  (interactive)
  (require 'eglot)
  (let ((eglot-server-programs `((,major-mode {command} \"lsp\"))))
    (call-interactively #'eglot)))
;; `M-x eglot` starts it where Eglot knows no other server.
(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs
               '((prog-mode text-mode conf-mode) {command} \"lsp\") t))
;; CI jobs under dape: `M-x dape`, then `backstitch-job` in a workflow.
(defun backstitch-job-at-point ()
  \"Name of the CI job around point.\"
  (let* ((list (with-output-to-string
                 (call-process {command} nil standard-output nil
                               \"job\" \"list\" \"--json\" (buffer-file-name))))
         (workflow (aref (gethash \"workflows\" (json-parse-string list)) 0))
         (line (line-number-at-pos))
         (above (seq-filter (lambda (job) (<= (gethash \"line\" job) line))
                            (gethash \"jobs\" workflow))))
    (and above (gethash \"id\" (car (last above))))))
(defun backstitch-ensure-workflow (_)
  \"Signal an error if this buffer is not a CI workflow.\"
  (unless (string-match-p \"/\\\\.github/workflows/\" (or (buffer-file-name) \"\"))
    (user-error \"This buffer is not a CI workflow\")))
(defun backstitch-step-back ()
  \"Take the last step of the CI job back.\"
  (interactive)
  (dape-evaluate-expression (dape--live-connection 'stopped) \":back\"))
(with-eval-after-load 'dape
  (define-key dape-global-map \",\" #'backstitch-step-back)
  (dolist (config
           '((backstitch-job
              modes nil ensure backstitch-ensure-workflow
              command {command} command-args (\"dap\") command-cwd dape-command-cwd
              :type \"backstitch-job\" :request \"launch\"
              :workflow dape-buffer-default :job backstitch-job-at-point)
             (backstitch-job-continue
              modes nil ensure backstitch-ensure-workflow
              command {command} command-args (\"dap\") command-cwd dape-command-cwd
              :type \"backstitch-job\" :request \"attach\" :run \"last\")))
    (add-to-list 'dape-configs config)))
"
    )
}

pub fn kakoune(binary: &str) -> String {
    let command = double_quoted(binary);
    format!(
        "# Backstitch, beside the other servers of kakoune-lsp; a file type may be set more than once
hook -group backstitch global BufSetOption filetype=.+ %{{
    evaluate-commands %sh{{
        case \"$kak_opt_lsp_servers\" in
        *'[backstitch]'*) ;;
        *) echo backstitch-serve ;;
        esac
    }}
}}
define-command -hidden -override backstitch-serve %{{
    set-option -add buffer lsp_servers %{{
        [backstitch]
        root_globs = [\".backstitch.toml\", \".git\"]
        command = {command}
        args = [\"lsp\"]
    }}
}}
"
    )
}

pub fn sublime(binary: &str) -> String {
    let command = double_quoted(binary);
    format!(
        r#"{{
  "clients": {{
    "backstitch": {{
      "enabled": true,
      "command": [{command}, "lsp"],
      "selector": "source | text"
    }}
  }}
}}
"#
    )
}

pub fn vscode(binary: &str) -> String {
    let command = double_quoted(binary);
    format!("{{\n  \"backstitch.server.path\": {command}\n}}\n")
}

/// Returns a Lua string literal.
fn lua(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// Returns a string literal of Lisp, TOML or JSON.
fn double_quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_quoted() {
        assert!(neovim("/it's/b").contains(r"cmd = { '/it\'s/b', 'lsp' }"));
        assert!(emacs(r#"C:\a "b""#).contains(r#""C:\\a \"b\"""#));
        assert!(neovim("/b").starts_with(MARKER));
    }
}
