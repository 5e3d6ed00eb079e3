//! Neovim with the plugin as a plain package, without configuration: its screen, and a way to evaluate Lua from
//! outside.

use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{env, fs};

use serde_json::Value;

use crate::editors::screen::{Editor, installed};
use crate::support::limits::EVENT_TIMEOUT;
use crate::support::{World, binary, finish};

const SIZE: (u16, u16) = (30, 110);

/// A workspace with the server on its search path.
pub fn world(files: &[(&str, &str)]) -> World {
    let folder = binary::path().parent().expect("a folder");
    let rest = env::var("PATH").unwrap_or_default();
    World::committed_for_a_screen(files).with("PATH", &format!("{}:{rest}", folder.display()))
}

pub fn plugin() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("the project").join("nvim-plugin")
}

/// Installs the plugin as a package that Neovim loads automatically.
pub fn install(world: &World) {
    let packages = world
        .home
        .join(".local/share/nvim/site/pack/backstitch/start");
    fs::create_dir_all(&packages).expect("a directory");
    let link = packages.join("backstitch");
    if !link.exists() {
        std::os::unix::fs::symlink(plugin(), link).expect("a link");
    }
}

/// Writes the user's `init.lua`.
pub fn configure(world: &World, lua: &str) {
    let folder = world.config.join("nvim");
    fs::create_dir_all(&folder).expect("a directory");
    fs::write(folder.join("init.lua"), lua).expect("written");
}

pub struct Neovim<'w> {
    pub screen: Editor,
    world: &'w World,
    program: PathBuf,
    socket: PathBuf,
}

impl<'w> Neovim<'w> {
    /// Starts Neovim; None where it is missing and may be. `name` is that of its screens.
    pub fn start(world: &'w World, name: &'static str, args: &[&str]) -> Option<Self> {
        install(world);
        Self::plain(world, name, args)
    }

    /// Starts Neovim with only the plugins that the test has installed.
    pub fn plain(world: &'w World, name: &'static str, args: &[&str]) -> Option<Self> {
        let program = installed(name, "nvim")?;
        let socket = world.home.join(format!("{name}.sock"));
        let listen = socket.to_string_lossy().into_owned();
        let args = [&["-n", "--listen", &listen], args].concat();
        let mut screen = Editor::sized(world, name, &program, &args, SIZE);
        // it has started, and answers requests
        screen.shows("All");
        Some(Self {
            screen,
            world,
            program,
            socket,
        })
    }

    /// Types an Ex command.
    pub fn ex(&mut self, command: &str) {
        self.screen.keys(&format!(":{command}\r"));
    }

    /// Value of a Lua expression.
    #[track_caller]
    pub fn lua(&self, expression: &str) -> Value {
        self.evaluate(expression)
            .unwrap_or_else(|text| panic!("{expression}: {text}"))
    }

    /// Value of a Lua expression, or the words of its error.
    fn evaluate(&self, expression: &str) -> Result<Value, String> {
        let code = format!("vim.json.encode(({expression}))").replace('\'', "''");
        // a Neovim that shows a question answers no requests
        let mut command = self.world.command("timeout");
        command
            .arg((EVENT_TIMEOUT.as_secs() + 10).to_string())
            .arg(&self.program)
            .args(["--clean", "--headless", "--server"])
            .arg(&self.socket)
            .args(["--remote-expr", &format!("luaeval('{code}')")]);
        let output = finish(&mut command, b"");
        let text = output.stdout.trim();
        let text = if text.is_empty() {
            output.stderr.trim()
        } else {
            text
        };
        serde_json::from_str(text).map_err(|_| text.to_owned())
    }

    /// Waits until a Lua expression holds.
    #[track_caller]
    pub fn waits(&self, condition: &str) {
        let start = Instant::now();
        // Neovim reads no typed keys during one wait
        let wait = format!("vim.wait(200, function() return {condition} end, 10)");
        loop {
            match self.evaluate(&wait) {
                Ok(value) if value == true => return,
                Ok(_) => {}
                // the plugin's error message during a wait ends the wait: Neovim makes it the failure of the request
                Err(text) if text.contains("Vim:backstitch: ") => {}
                Err(text) => panic!("{condition}: {text}"),
            }
            assert!(start.elapsed() < EVENT_TIMEOUT, "{condition}");
        }
    }

    /// Process id of the server.
    #[track_caller]
    pub fn server(&self) -> u64 {
        let pid = self.lua("vim.tbl_filter(function(p) return p.name == \"backstitch\" end, vim.tbl_map(function(pid) return vim.api.nvim_get_proc(pid) or {} end, vim.api.nvim_get_proc_children(vim.fn.getpid())))[1].pid");
        pid.as_u64().expect("a process")
    }

    /// Simulates a slow machine: the server answers only after `meanwhile`.
    #[track_caller]
    pub fn while_it_thinks(&mut self, meanwhile: impl FnOnce(&mut Self)) {
        let server = self.server().to_string();
        let signal = |which: &str| {
            let mut kill = self.world.command("kill");
            finish(kill.args([which, &server]), b"").expect_code(0);
        };
        signal("-STOP");
        meanwhile(self);
        let mut kill = self.world.command("kill");
        finish(kill.args(["-CONT", &server]), b"").expect_code(0);
    }

    /// All messages until now.
    #[track_caller]
    pub fn messages(&self) -> String {
        self.lua("vim.fn.execute(\"messages\")").to_string()
    }

    /// Waits until a text is in `:messages`, where those are complete that the screen cuts.
    #[track_caller]
    pub fn says(&self, text: &str) {
        let quoted = Value::from(text);
        self.waits(&format!(
            "vim.fn.execute(\"messages\"):find({quoted}, 1, true) ~= nil"
        ));
    }

    /// Lines of the current buffer.
    #[track_caller]
    pub fn lines(&self) -> Vec<String> {
        let lines = self.lua("vim.api.nvim_buf_get_lines(0, 0, -1, false)");
        serde_json::from_value(lines).expect("texts")
    }

    /// Waits until the server is attached to the current buffer.
    #[track_caller]
    pub fn is_attached(&self) {
        self.waits(
            "(vim.lsp.get_clients({ name = \"backstitch\", bufnr = 0 })[1] or {}).initialized",
        );
    }
}

impl Drop for Neovim<'_> {
    fn drop(&mut self) {
        // processes behind the screen outlive its terminal, and would keep a server
        let behind = self.screen.children();
        if !behind.is_empty() {
            let mut kill = self.world.command("kill");
            finish(kill.arg("-9").args(behind), b"");
        }
    }
}
