// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "control/kube/client/api_carrier_system.h"
#include "gtest/gtest.h"
#include "tests/support/test_path.h"

namespace weft::kube {
namespace {

TEST(SystemAuthoritiesTest, TheFileThatTheEnvironmentNamesIsTheOnlyOne) {
  const std::filesystem::path empty = testing::TestPath();
  std::ofstream(empty).flush();
  ASSERT_EQ(::setenv("SSL_CERT_FILE", empty.c_str(), 1), 0);
  const std::unique_ptr<X509_STORE, decltype(&X509_STORE_free)> store(X509_STORE_new(),
                                                                      X509_STORE_free);
  AddSystemAuthorities(store.get());
  EXPECT_EQ(sk_X509_OBJECT_num(X509_STORE_get0_objects(store.get())), 0);
  ::unsetenv("SSL_CERT_FILE");
  std::filesystem::remove(empty);
}

}  // namespace
}  // namespace weft::kube
