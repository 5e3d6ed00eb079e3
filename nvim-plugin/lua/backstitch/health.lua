--- `:checkhealth backstitch`: requirements, their state, and how to fix what is missing.
local config = require('backstitch.config')
local server = require('backstitch.server')
local words = require('backstitch.words')

local M = {}

function M.check()
  local health = vim.health
  health.start('Neovim')
  local version = vim.fn.matchstr(vim.fn.execute('version'), [[NVIM v\zs\S*]])
  if vim.fn.has('nvim-0.12') == 1 then
    health.ok('version ' .. version)
  elseif vim.fn.has('nvim-0.11') == 1 then
    health.ok(('version %s: everything works, except that lenses refresh by themselves only in 0.12'):format(version))
  else
    health.error(('version %s is too old'):format(version), 'Install 0.11 or newer')
  end

  health.start('Configuration')
  config.get()
  if #config.problems == 0 then
    health.ok('nothing wrong')
  end
  for _, problem in ipairs(config.problems) do
    health.warn(problem)
  end

  health.start('Server')
  local binary = server.binary()
  if not binary then
    health.error(
      ("'%s' is not an executable"):format(server.program()),
      'Install it (cargo install --path server, in a clone), or set cmd: :help backstitch-options'
    )
    return
  end
  local said = vim.system({ binary, '--version' }, { text = true, timeout = 5000 }):wait()
  local its = (said.stdout or ''):match('%d+%.%d+%.%d+%S*')
  if not its then
    health.error(('%s reports no version: %s'):format(binary, vim.trim(said.stderr or '')))
    return
  elseif vim.version.lt(its, server.NEEDS) then
    health.error(
      ('%s is version %s, and %s is needed'):format(binary, its, server.NEEDS),
      'cargo install --path server, in a clone'
    )
    return
  end
  health.ok(('%s, version %s'):format(binary, its))
  local clients = vim.lsp.get_clients({ name = 'backstitch' })
  for _, client in ipairs(clients) do
    local where = client.root_dir or 'files outside of repositories'
    health.ok(('running for %s, with %s'):format(where, words.count(vim.tbl_count(client.attached_buffers), 'buffer')))
  end
  if #clients == 0 then
    health.info('not running: it starts with the first file')
  end

  health.start('Recording')
  local recordings = vim.system({ binary, '--json', 'setup', '--status' }, { text = true, timeout = 10000 }):wait()
  local ok, answer = pcall(vim.json.decode, recordings.stdout or '', { luanil = { object = true } })
  if recordings.code ~= 0 or not ok then
    health.warn('unknown: ' .. vim.trim(recordings.stderr or ''))
  else
    local is_any = vim.iter(answer.agents):any(function(agent)
      return agent.recording
    end)
    if not is_any then
      health.warn(
        #answer.agents == 0 and 'no agent was found on this machine' or 'no agent is recorded',
        'In a shell: backstitch setup claude-code. :help backstitch-start'
      )
    end
    for _, agent in ipairs(answer.agents) do
      local said = ('%s: recording is %s'):format(agent.agent, agent.recording and 'on' or 'off')
      if not agent.reason then
        health.ok(said)
      else
        local text = said .. ': ' .. agent.reason
        if agent.recording then
          health.warn(text, agent.fix)
        elseif #agent.hooks > 0 then
          health.error(text, agent.fix)
        else
          -- an agent without hooks is a choice
          health.info(agent.fix and text .. '; ' .. agent.fix or text)
        end
      end
    end
  end

  health.start('CI jobs')
  local dap = package.loaded.dap or #vim.api.nvim_get_runtime_file('lua/dap.lua', false) > 0
  if not dap then
    health.info('nvim-dap is not installed: :Backstitch job uses a terminal window. :help backstitch-nvim-dap')
  elseif require('backstitch.dap').register() then
    health.ok("nvim-dap has the adapter 'backstitch-job'")
  else
    health.warn('nvim-dap does not load', ':lua require("dap") shows the error')
  end

  health.start('Workspace')
  local root = server.root(vim.uv.cwd() or '.') or vim.uv.cwd()
  local status = vim.system({ binary, 'status' }, { text = true, timeout = 10000, cwd = root }):wait()
  local lines = vim.split(vim.trim((status.stdout or '') .. (status.stderr or '')), '\n', { plain = true })
  local tell = status.code == 0 and health.ok or health.warn
  tell(('%s\n%s'):format(root, table.concat(lines, '\n')))
end

return M
