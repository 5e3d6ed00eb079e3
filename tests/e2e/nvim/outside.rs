//! Names of files, branches and programs in Neovim: shown, and never run.

use super::rig::{Neovim, world};

/// Names that are code where a command of Neovim, a shell or a status line takes them as text.
fn names(mark: &str) -> Vec<String> {
    let code: Vec<String> = format!("touch {mark}")
        .bytes()
        .map(|b| b.to_string())
        .collect();
    let code = code.join(",");
    vec![
        format!("a\nlua(os.execute)(string.char({code}))--\nx.txt"),
        format!("a\r\nlua(os.execute)(string.char({code}))--\nx.txt"),
        format!("a|lua(os.execute)(string.char({code}))--"),
        format!("+lua(os.execute)(string.char({code}))"),
        format!("`touch {mark}`"),
        format!("`=system('touch {mark}')`"),
        format!("$(touch {mark})"),
        format!("%{{system('touch {mark}')}}"),
        format!("%!system('touch {mark}')"),
        "<CR>:q<CR>".to_owned(),
        "-c q".to_owned(),
        "[x]".to_owned(),
        "#".to_owned(),
        "%".to_owned(),
        "~".to_owned(),
        "++enc=x y".to_owned(),
    ]
}

/// A string in Lua.
fn lua(text: &str) -> String {
    let bytes: Vec<String> = text.bytes().map(|byte| byte.to_string()).collect();
    format!("string.char({})", bytes.join(","))
}

/// A word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// An agent renames an open file, by a command or by a branch of somebody else: the buffer gets the name, and nothing runs.
#[test]
fn a_name_is_never_a_command() {
    let world = world(&[("a.txt", "one\ntwo\nthree\nfour\n"), ("b.txt", "b\n")]);
    let Some(mut nvim) = Neovim::start(&world, "plugin-outside-names", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let mark = "RAN";
    let mut at = "a.txt".to_owned();
    let mut agent = world.agent();
    agent.prompt("rename it");
    // the server knows the document, and follows the timeline
    agent.edit("a.txt", "four", "4");
    nvim.screen.shows("1 checkpoint");
    nvim.waits("vim.fn.getline(4) == '4'");
    for name in names(mark) {
        let moved = agent.bash(&format!(
            "mv -- {} {}",
            quoted(&at),
            quoted(&format!("./{name}"))
        ));
        assert_eq!(moved.code, 0, "{moved}");
        nvim.waits(&format!(
            "vim.api.nvim_buf_get_name(0) == {}",
            lua(&world.path(&name).to_string_lossy())
        ));
        nvim.is_attached();
        assert!(!world.exists(mark), "{name:?} ran");
        at = name;
    }
    agent.stop();
    assert!(!world.exists(mark));
    assert_eq!(nvim.lua("vim.api.nvim_buf_line_count(0)"), 4);
}

/// Each way of the plugin to open or name a buffer takes any name as it stands.
#[test]
fn a_name_is_opened_as_it_stands() {
    let world = world(&[("a.txt", "one\n")]);
    let Some(nvim) = Neovim::start(&world, "plugin-outside-ways", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    for name in names("RAN") {
        let path = world.path(&name);
        for way in ["rename", "edit", "diffsplit"] {
            let path = lua(&format!("{}{way}", path.display()));
            let named = nvim.lua(&format!(
                "(function() vim.cmd.tabnew(); require(\"backstitch.outside\").{way}({path}); local name = vim.api.nvim_buf_get_name(0); vim.cmd(\"silent! tabonly!\"); return name == {path} end)()"
            ));
            assert_eq!(named, true, "{way} {name:?}");
            assert!(!world.exists("RAN"), "{way} runs {name:?}");
        }
    }
}

/// A branch's name is text in a status line that interprets what it gets.
#[test]
fn a_branch_is_text_in_a_status_line() {
    let world = world(&[("a.txt", "one\n")]);
    let mut agent = world.agent();
    agent.prompt("two");
    agent.edit("a.txt", "one", "two");
    agent.stop();
    let Some(nvim) = Neovim::start(&world, "plugin-outside-status", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let text = nvim.lua("require(\"backstitch.outside\").status_part(\"x%{system(1)}\" .. string.char(10, 27) .. \"y\")");
    let text = text.as_str().expect("a text");
    assert!(!text.contains(['%', '\n', '\u{1b}']), "{text}");
    let shown = nvim.lua("vim.api.nvim_eval_statusline(require(\"backstitch.outside\").status(\"%{1+1}%=%!x\"), {}).str");
    assert_eq!(shown, "%{1+1}%=%!x");
}

/// Names are completed as names: a backtick in one starts no shell.
#[test]
fn a_name_is_completed_and_not_expanded() {
    let world = world(&[
        ("a.txt", "one\n"),
        ("x`touch RAN`/in.txt", "one\n"),
        ("%`touch RAN`", "p\n"),
    ]);
    let Some(nvim) = Neovim::start(&world, "plugin-outside-complete", &["a.txt"]) else {
        return;
    };
    nvim.is_attached();
    let found =
        nvim.lua("require(\"backstitch.outside\").complete_file(\"x\\\\`touch\\\\ RAN\\\\`/\")");
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    nvim.lua("{ vim.fn.getcompletion(\"Backstitch log x\", \"cmdline\"), vim.fn.getcompletion(\"Backstitch log %\", \"cmdline\") }");
    nvim.lua("{ pcall(vim.cmd, \"Backstitch log %`touch\\\\ RAN`\") }");
    assert!(!world.exists("RAN"));
}
